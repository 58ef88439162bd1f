/** Parts that other modules of this client share. They are no API, and change without notice. */
@NullMarked
package com.stintdb.client.internal;

import org.jspecify.annotations.NullMarked;
