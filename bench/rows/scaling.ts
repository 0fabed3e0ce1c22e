import type { Bench } from '../bench.ts';
import { count, megabytes, ms } from './finding.ts';
import type { Finding, Plot, Row, RowResult } from './finding.ts';

interface Measured {
  readonly turns: number;
  readonly appendUs: number;
  readonly openMs: number;
  readonly rssBytes: number;
}

const measured: Measured[] = [];

/** Comes before the rows that need a deep store: it takes the figures while that store grows. */
export const scalingRow: Row = {
  name: 'scaling',
  about: 'append cost, open time and memory as the store grows',
  run: (bench: Bench) => grow(bench, (turns) => turns <= bench.sizes.deepTurns),
};

/** Comes after them: they are about a store of a certain depth. */
export const scalingFurtherRow: Row = {
  name: 'scaling-further',
  about: 'the same for stores past the deep one (with --full: 10 million turns)',
  run: (bench: Bench) => grow(bench, (turns) => turns > bench.sizes.deepTurns),
};

async function grow(bench: Bench, isMeant: (turns: number) => boolean): Promise<RowResult> {
  const { scales } = bench.sizes;
  const added: Measured[] = [];
  for (const turns of scales.filter(isMeant)) {
    const grown = await bench.grow('quipu', turns);
    const { openMs = 0, rssBytes = 0 } = await bench.onGrown('open', 'quipu', 1);
    added.push({ turns, appendUs: grown?.['appendUs'] ?? Number.NaN, openMs, rssBytes });
  }
  measured.push(...added);
  const isComplete = added.at(-1)?.turns === scales.at(-1);
  return { findings: added.map(toFinding), plots: isComplete ? plotsOf(measured) : [] };
}

function plotsOf(all: readonly Measured[]): readonly Plot[] {
  const points = (pick: (at: Measured) => number): (readonly [number, number])[] =>
    all.map((at) => [at.turns, pick(at)] as const);
  return [
    {
      file: 'append-cost.svg',
      title: 'Append cost as the store grows (batches, no sync)',
      yLabel: 'µs per append',
      series: [{ name: 'append', points: points((at) => at.appendUs) }],
    },
    {
      file: 'open-time.svg',
      title: 'Time to open as the store grows',
      yLabel: 'ms',
      series: [{ name: 'open', points: points((at) => at.openMs) }],
    },
    {
      file: 'memory.svg',
      title: 'Memory after opening and reading 64 turns',
      yLabel: 'RSS in MB',
      series: [{ name: 'RSS', points: points((at) => at.rssBytes / 1e6) }],
    },
  ];
}

function toFinding({ turns, appendUs, openMs, rssBytes }: Measured): Finding {
  const answer = `${appendUs.toFixed(1)} µs per append, open ${ms(openMs)}, RSS ${megabytes(rssBytes)}`;
  return {
    work: `at ${count(turns)} turns (batches, no sync)`,
    answers: { quipu: answer },
    measured: '',
    must: '',
    met: undefined,
  };
}
