@NullMarked
package com.stintdb.client;

import org.jspecify.annotations.NullMarked;
