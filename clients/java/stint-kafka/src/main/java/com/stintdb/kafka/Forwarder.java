package com.stintdb.kafka;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;

/** Hands calls on to an object of Kafka, in all versions of its interface. */
abstract class Forwarder<T> implements InvocationHandler {
    private final Class<? super T> face;
    final T inner;

    Forwarder(Class<? super T> face, T inner) {
        this.face = face;
        this.inner = inner;
    }

    @SuppressWarnings("unchecked") // it implements the interface
    T proxy() {
        return (T) Proxy.newProxyInstance(face.getClassLoader(), new Class<?>[] {face}, this);
    }

    /** Makes the same call of the inner object. */
    @Nullable Object forward(Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(inner, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
