package com.stintdb.spring;

import java.nio.charset.StandardCharsets;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/** Answers denials of controllers with 429 or 503. It has order 0, so that it comes before an advice for all exceptions. */
@ControllerAdvice
@Order(0)
class RateLimitedAdvice {
    @ExceptionHandler
    ResponseEntity<byte[]> answer(RateLimitedException denial) {
        HttpHeaders headers = new HttpHeaders();
        denial.answer().fields().forEach(headers::set);
        return ResponseEntity.status(denial.answer().status()).headers(headers).body(denial.answer().body().getBytes(StandardCharsets.UTF_8));
    }
}
