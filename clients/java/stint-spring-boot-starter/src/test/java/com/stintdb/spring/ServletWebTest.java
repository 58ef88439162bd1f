package com.stintdb.spring;

import org.springframework.boot.WebApplicationType;

class ServletWebTest extends WebTest {
    ServletWebTest() {
        super(WebApplicationType.SERVLET);
    }
}
