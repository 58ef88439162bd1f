package com.stintdb.spring;

import com.stintdb.client.web.Guard;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Checks calls that return a type of Reactor, or another that Spring adapts to it, at each subscription. */
final class ReactiveMethods {
    private final ReactiveAdapter adapter;

    private ReactiveMethods(ReactiveAdapter adapter) {
        this.adapter = adapter;
    }

    /** The checks of methods with this type of results; null if it is not reactive. */
    static @Nullable ReactiveMethods of(Class<?> type) {
        ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
        return adapter == null ? null : new ReactiveMethods(adapter);
    }

    Object limit(Supplier<CompletionStage<Guard.Answer>> ask, Consumer<Guard.Answer> check, Supplier<MethodInvocation> call) {
        Mono<Publisher<Object>> granted = Mono.fromCompletionStage(ask).publishOn(Schedulers.parallel()).doOnNext(check).map(answer -> proceed(call.get()));
        Publisher<Object> results = adapter.isMultiValue() ? granted.flatMapMany(Flux::from) : granted.flatMap(Mono::from);
        return adapter.fromPublisher(results);
    }

    private Publisher<Object> proceed(MethodInvocation call) {
        try {
            return adapter.toPublisher(call.proceed());
        } catch (Throwable e) {
            return Mono.error(e);
        }
    }
}
