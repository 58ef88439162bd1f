package com.stintdb.spring;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.core.annotation.Order;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/** Answers denials of {@link RateLimited} in controllers. It has order 0, so that it comes before an advice for all exceptions. */
@ControllerAdvice
@Order(0)
class ServletAdvice {
    @ExceptionHandler
    void answer(RateLimitedException denial, HttpServletResponse response) throws IOException {
        StintFilter.respond(response, denial.answer());
    }
}
