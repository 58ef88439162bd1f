/**
 * Kafka by limits of Stint: {@link com.stintdb.kafka.Pacing} for producers and consumers, {@link com.stintdb.kafka.StintQuotaCallback} for brokers.
 */
@NullMarked
package com.stintdb.kafka;

import org.jspecify.annotations.NullMarked;
