package com.stintdb.spring.gateway;

import com.stintdb.client.web.Guard;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.server.ResponseStatusException;

/** Nobody counts at present, and the policy for that time denies. The gateway answers 503. */
final class UncountedException extends ResponseStatusException {
    private final transient Guard.Answer answer;

    UncountedException(Guard.Answer answer) {
        super(HttpStatus.SERVICE_UNAVAILABLE, "requests cannot be counted at present", answer.result().cause());
        this.answer = answer;
    }

    @Override
    public HttpHeaders getHeaders() {
        HttpHeaders headers = new HttpHeaders();
        headers.set("Retry-After", String.valueOf(answer.fields().get("Retry-After")));
        headers.set("Cache-Control", "no-store");
        return headers;
    }
}
