package com.stintdb.spring;

import com.stintdb.client.web.Callers;
import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;

/** Identifies the caller of a request: the id for the policy. Define a bean of this type for another than the user or the address. */
@FunctionalInterface
public interface CallerKey {
    /** The caller's id. Requests with the same id share a limit, also those with "". With null, a request is denied and logged. */
    @Nullable String of(HttpServletRequest request);

    /** The user's name, or the address of an anonymous caller. Behind proxies, the address is that of the servlet container's configuration. */
    static CallerKey userOrAddress() {
        return request -> request.getUserPrincipal() != null ? "user:" + request.getUserPrincipal().getName() : Callers.ofAddress(request.getRemoteAddr());
    }
}
