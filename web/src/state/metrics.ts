// Figures of the server, read from its metrics in the text format of Prometheus. These functions are pure.

/** Totals since the server began. */
export interface Sample {
  readonly atMs: number;
  readonly appends: number;
  readonly requests: number;
  readonly seconds: number;
}

export interface Step {
  readonly appends: number;
  readonly ms: number;
}

/** Sums counters over all their labels. */
export function readMetrics(text: string, atMs: number): Sample {
  let [appends, requests, seconds] = [0, 0, 0];
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = /^(\w+)(\{[^}]*\})? (\S+)$/.exec(line) ?? [];
    if (name === 'quipu_request_duration_seconds_count') requests += Number(value);
    else if (name === 'quipu_request_duration_seconds_sum') seconds += Number(value);
    else if (name === 'quipu_records_total' && /"turn(?:_sealed)?"/.test(labels)) {
      appends += Number(value);
    }
  }
  return { atMs, appends, requests, seconds };
}

/** What happened between two samples. A server that began anew counts from zero. */
export function toSteps(samples: readonly Sample[]): Step[] {
  return samples.slice(1).map((sample, at) => {
    const before = samples[at] ?? sample;
    const passedMs = Math.max(1, sample.atMs - before.atMs);
    const requests = sample.requests - before.requests;
    return {
      appends: Math.max(0, (1000 * (sample.appends - before.appends)) / passedMs),
      ms: requests > 0 ? Math.max(0, (1000 * (sample.seconds - before.seconds)) / requests) : 0,
    };
  });
}
