package com.stintdb.spring;

import org.springframework.boot.WebApplicationType;

class ReactiveWebTest extends WebTest {
    ReactiveWebTest() {
        super(WebApplicationType.REACTIVE);
    }
}
