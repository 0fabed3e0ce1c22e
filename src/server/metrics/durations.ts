// A histogram of durations by two labels, like the one of prom-client and printed in the same way. The histogram of
// prom-client took 2 µs of every counted request: it joins the labels to a key each time, and looks buckets up by their
// text.

export interface DurationsOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly [string, string];
  /** Upper bounds in seconds, rising. */
  readonly buckets: readonly number[];
}

/** Values of labels must come from a fixed set: each value that was ever seen stays. */
export class Durations {
  readonly #options: DurationsOptions;
  readonly #series = new Map<string, Map<string, Series>>();

  constructor(options: DurationsOptions) {
    this.#options = options;
  }

  observe(first: string, second: string, seconds: number): void {
    const known = this.#series.get(first)?.get(second);
    (known ?? this.#addSeries(first, second)).observe(seconds);
  }

  /** The histogram in the text format of Prometheus. */
  text(): string {
    const { name, help, labels } = this.#options;
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    for (const [first, bySecond] of this.#series) {
      for (const [second, series] of bySecond) {
        const shared = `${labels[0]}=${quote(first)},${labels[1]}=${quote(second)}`;
        lines.push(...series.lines(name, shared));
      }
    }
    return lines.join('\n');
  }

  #addSeries(first: string, second: string): Series {
    const bySecond = this.#series.get(first) ?? new Map<string, Series>();
    const series = new Series(this.#options.buckets);
    this.#series.set(first, bySecond.set(second, series));
    return series;
  }
}

class Series {
  readonly #buckets: readonly number[];
  /** The number of values in each bucket and in none before it. The last entry counts values above all buckets. */
  readonly #counts: number[];
  #sum = 0;

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.#counts = Array.from({ length: buckets.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let at = 0;
    for (const bucket of this.#buckets) {
      if (value <= bucket) break;
      at += 1;
    }
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
  }

  lines(name: string, labels: string): string[] {
    let count = 0;
    const buckets = this.#counts.map((own, at) => {
      count += own;
      return `${name}_bucket{le="${this.#buckets[at] ?? '+Inf'}",${labels}} ${count}`;
    });
    return [...buckets, `${name}_sum{${labels}} ${this.#sum}`, `${name}_count{${labels}} ${count}`];
  }
}

/** JSON escapes the same characters as a label's value, and in the same way. */
function quote(value: string): string {
  return JSON.stringify(value);
}
