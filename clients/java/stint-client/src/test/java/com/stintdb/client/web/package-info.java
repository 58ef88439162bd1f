@NullMarked
package com.stintdb.client.web;

import org.jspecify.annotations.NullMarked;
