package com.stintdb.spring;

import com.stintdb.client.InvalidException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Shows the sentence of a wrong property or annotation in place of a stack trace when an application does not start. */
final class InvalidFailureAnalyzer extends AbstractFailureAnalyzer<InvalidException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, InvalidException cause) {
        return new FailureAnalysis(String.valueOf(cause.getMessage()), "Change the setting as the description says. The properties stint.* and the annotation are described in docs/clients-java.md.", cause);
    }
}
