package com.stintdb.spring;

import com.stintdb.client.InvalidException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodClassKey;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.util.ReflectionUtils;

/** The policies and the ids of {@link RateLimited} methods. Mistakes are found before a bean is used. */
final class RateLimitedRules {
    /** The rule of a method, and where it stands. */
    record Rule(String policy, SpelExpression id, String place) {}

    private final SpelExpressionParser parser = new SpelExpressionParser();
    private final ParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
    private final Map<MethodClassKey, Rule> rules = new ConcurrentHashMap<>();
    private final BeanFactory beans;
    private final PolicyCheck policies;

    RateLimitedRules(BeanFactory beans, PolicyCheck policies) {
        this.beans = beans;
        this.policies = policies;
    }

    /** Reads the rules of a class with such methods. It is always true. */
    boolean check(Class<?> target) {
        for (Method method : ReflectionUtils.getUniqueDeclaredMethods(target)) {
            if (!method.isSynthetic() && find(method) != null) {
                of(method, target);
            }
        }
        return true;
    }

    /** The rule of a method that has one. */
    Rule of(Method method, Class<?> target) {
        return rules.computeIfAbsent(new MethodClassKey(method, target), key -> read(AopUtils.getMostSpecificMethod(method, target)));
    }

    private static @Nullable RateLimited find(Method method) {
        return AnnotatedElementUtils.findMergedAnnotation(method, RateLimited.class);
    }

    private Rule read(Method method) {
        String place = "@RateLimited on " + method.getDeclaringClass().getSimpleName() + "." + method.getName();
        RateLimited found = find(method);
        if (found == null) {
            throw new IllegalStateException(place + " is gone");
        }
        if ((method.getModifiers() & (Modifier.PRIVATE | Modifier.STATIC | Modifier.FINAL)) != 0) {
            throw new InvalidException(place + ": calls of private, static and final methods cannot be checked, because Spring cannot intercept them");
        }
        if (KotlinDetector.isSuspendingFunction(method)) {
            throw new InvalidException(place + ": calls of suspending functions cannot be checked: return a Mono, or ask the limiter in the function");
        }
        if (found.id().isBlank()) {
            throw new InvalidException(place + ": id needs an expression such as \"#user\", or \"'all'\" for one limit of all callers, got \"" + found.id() + "\"");
        }
        policies.needs(found.policy(), place);
        return new Rule(found.policy(), parse(found.id(), method, place), place);
    }

    private SpelExpression parse(String text, Method method, String place) {
        try {
            SpelExpression expression = parser.parseRaw(text);
            checkNames(expression.getAST(), method, place, text);
            return expression;
        } catch (ParseException e) {
            throw new InvalidException(place + ": id must be an expression such as \"#user\", got \"" + text + "\": " + e.getMessage());
        }
    }

    /** Finds variables that no call can have. */
    private void checkNames(@Nullable SpelNode node, Method method, String place, String text) {
        if (node == null) {
            return;
        }
        if (node instanceof VariableReference && !isKnown(node.toStringAST().substring(1), method)) {
            throw new InvalidException(place + ": id \"" + text + "\" has " + node.toStringAST() + ", which is no parameter; the parameters are "
                    + parameters(method) + " (names need javac -parameters)");
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            checkNames(node.getChild(i), method, place, text);
        }
    }

    private boolean isKnown(String name, Method method) {
        if (name.equals("root") || name.equals("this") || parameters(method).contains(name)) {
            return true;
        }
        return name.matches("[ap][0-9]{1,3}") && Integer.parseInt(name.substring(1)) < method.getParameterCount();
    }

    private List<String> parameters(Method method) {
        @Nullable String[] found = names.getParameterNames(method);
        return found == null ? List.of() : Arrays.asList(found);
    }

    /** The id of a call. */
    String idOf(Rule rule, Method method, Object target, @Nullable Object[] arguments) {
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(target, AopUtils.getMostSpecificMethod(method, target.getClass()), arguments, names);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        Object id = rule.id.getValue(context);
        if (id == null || id.toString().isEmpty()) {
            throw new InvalidException(rule.place + ": id \"" + rule.id.getExpressionString() + "\" is " + (id == null ? "null" : "empty") + " in this call: name its caller");
        }
        return id.toString();
    }
}
