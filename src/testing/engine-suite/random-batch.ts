import fc from 'fast-check';

import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Batch, BlobPut, ContextRef, TurnOpen, TurnSeal } from '../../engine/batch.ts';
import type { ModelState } from '../model/model-state.ts';
import { blobOf } from './fixture.ts';

// Random batches for a comparison of engines. The numbers drawn choose among the things that exist when the batch is
// made, so that most batches succeed. Now and then they choose a thing that does not exist or is taken. A batch touches
// each log, document and context description once: the engine may shape its result for two changes to one thing as it
// likes.

interface Draw {
  readonly kind: keyof typeof MAKERS;
  /** Chooses the thing that the change is about. */
  readonly at: number;
  /** Chooses among variants of the change. */
  readonly how: number;
  readonly text: string;
}

export type Step =
  | { readonly do: 'commit'; readonly draws: readonly Draw[]; readonly key: number }
  /** Sends a batch again that had a key. */
  | { readonly do: 'repeat'; readonly at: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'checkpoint' | 'reopen' };

type Mutable = {
  -readonly [List in keyof Omit<Batch, 'idempotency'>]-?: NonNullable<Batch[List]>[number][];
};

interface Making {
  readonly state: ModelState;
  readonly batch: Mutable;
  readonly taken: Set<string>;
}

const OUTCOMES: readonly TurnSeal['outcome'][] = ['complete', 'aborted', 'interrupted'];

const MAKERS = {
  create({ state, batch }: Making, { at, how, text }: Draw): void {
    const base = how % 3 === 0 ? { base: pickTurn(state, at) } : {};
    const meta =
      how % 2 === 0
        ? {
            meta: {
              ...nameOf(how, at),
              title: titleOf(text),
              kind: `k${how % 3}`,
              labels: [`l${at % 3}`],
            },
          }
        : {};
    // A creation with a key is alone in its batch, or the batch is refused.
    const key = how % 5 === 4 ? { key: `k${at % 3}` } : {};
    batch.contexts.push({ do: 'create', ...base, ...meta, ...key });
  },
  /** Alone in its batch, or the batch is refused. */
  getNamed({ batch }: Making, { at, how }: Draw): void {
    const name = `n${at % 5}`;
    batch.contexts.push({ do: 'create', meta: { name, kind: `k${how % 3}` }, getNamed: true });
  },
  rename({ state, batch, taken }: Making, { at, how }: Draw): void {
    const context = pickContext(state, at);
    if (isToCome(state, batch, context) || !take(taken, `context ${context}`)) return;
    batch.contexts.push({ do: 'rename', context, ...nameOf(how * 3, at >> 3) });
  },
  describe({ state, batch, taken }: Making, { at, how, text }: Draw): void {
    const context = pickContext(state, at);
    if (isToCome(state, batch, context) || !take(taken, `context ${context}`)) return;
    batch.contexts.push({
      do: 'describe',
      context,
      meta: { title: titleOf(text), labels: [`l${how % 3}`] },
    });
  },
  remove({ state, batch, taken }: Making, { at, how }: Draw): void {
    const context = pickContext(state, at);
    const isStreaming = (state.getContext(context)?.openTurn ?? NO_TURN) !== NO_TURN;
    if (isToCome(state, batch, context)) return;
    if (how % 4 !== 0 || isStreaming || !take(taken, `context ${context}`)) return;
    batch.contexts.push({ do: 'remove', context });
  },
  move({ state, batch, taken }: Making, { at, how }: Draw): void {
    const context = pickFreeContext(state, { at });
    if (isToCome(state, batch, context) || !take(taken, `context ${context}`)) return;
    const head = how % 5 === 0 ? NO_TURN : pickTurn(state, at + how);
    const now = state.getContext(context)?.head;
    const expected = how % 3 === 0 && now !== undefined ? { expectedHead: now } : {};
    batch.contexts.push({ do: 'move', context, head, ...expected });
  },
  append(making: Making, draw: Draw): void {
    const blob = payload(draw);
    if (!isOdd(draw)) making.batch.blobs.push(blob);
    making.batch.turns.push({
      ...place(making, draw),
      payload: blob.hash,
      size: blob.bytes.length,
    });
  },
  open(making: Making, draw: Draw): void {
    making.batch.opens.push(place(making, draw));
  },
  delta({ state, batch, taken }: Making, { at, how, text }: Draw): void {
    const turn = pickOpen(state, at);
    if (turn === undefined || !take(taken, `delta ${turn}`)) return;
    const length = state.openBytes.get(turn)?.length ?? 0;
    const offset = how % 4 === 0 ? Math.max(0, length - 2) : length + (how % 19 === 18 ? 1 : 0);
    batch.deltas.push({ turn, offset, bytes: new TextEncoder().encode(text) });
  },
  seal({ state, batch, taken }: Making, draw: Draw): void {
    const turn = pickOpen(state, draw.at);
    if (turn === undefined || !take(taken, `seal ${turn}`)) return;
    const outcome = OUTCOMES[draw.how % 3] ?? 'complete';
    if (draw.how % 4 < 2) {
      batch.seals.push({ turn, outcome });
      return;
    }
    const blob = payload(draw);
    batch.blobs.push(blob);
    batch.seals.push({ turn, outcome, payload: blob.hash, size: blob.bytes.length });
  },
  patch({ state, batch }: Making, draw: Draw): void {
    const blob = payload(draw);
    batch.blobs.push(blob);
    const turn = pickTurn(state, draw.at);
    const newest = state.patchesOn(turn).at(-1)?.seq ?? 0;
    const expected = draw.how % 3 === 0 ? { expectedSeq: newest } : {};
    const about = {
      tombstone: draw.how % 2 === 0,
      encoding: draw.how % 4,
      size: blob.bytes.length,
    };
    batch.patches.push({ turn, ...about, payload: blob.hash, ...expected });
  },
  fsRoot({ state, batch }: Making, draw: Draw): void {
    const { hash: root, ...tree } = payload(draw);
    if (!isOdd(draw)) batch.blobs.push({ hash: root, ...tree });
    batch.fsRoots.push({ turn: pickTurn(state, draw.at), root });
  },
  log({ state, batch, taken }: Making, { at, how, text }: Draw): void {
    const name = `logs/log-${at % 4}`;
    if (!take(taken, name)) return;
    const expected = how % 3 === 0 ? { expectedLines: state.getLog(name)?.lines ?? 0 } : {};
    const lines = Array.from({ length: 1 + (how % 3) }, (_, n) => JSON.stringify({ n, text }));
    batch.logs.push(
      how % 8 === 7 ? { do: 'remove', name } : { do: 'append', name, lines, ...expected },
    );
  },
  doc({ state, batch, taken }: Making, { at, how, text }: Draw): void {
    const name = `out/docs-${at % 4}.json`;
    if (!take(taken, name)) return;
    const expected = how % 3 === 0 ? { expectedVersion: state.getDoc(name)?.version ?? 0 } : {};
    const content = how % 5 === 4 ? undefined : JSON.stringify({ text });
    batch.docs.push({ name, content, publish: at % 2 === 0, ...expected });
  },
};

/**
 * This has no bias: the numbers only choose, and small ones are not more telling than others. The arbitrary is made
 * when it is needed: strings of all characters take a second to set up.
 */
function draws(): fc.Arbitrary<Draw> {
  return fc.noBias(
    fc.record({
      kind: fc.constantFrom(...(Object.keys(MAKERS) as (keyof typeof MAKERS)[])),
      at: fc.nat(100_000),
      how: fc.nat(100_000),
      text: fc.string({ maxLength: 12, unit: 'binary' }),
    }),
  );
}

/** `reopens` is true only when the engine under test can be opened again. */
export function steps(reopens: boolean): fc.Arbitrary<Step[]> {
  const upkeep = reopens ? (['checkpoint', 'reopen'] as const) : (['checkpoint'] as const);
  const step = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        do: fc.constant('commit' as const),
        draws: fc.array(draws(), { minLength: 1, maxLength: 4 }),
        key: fc.noBias(fc.nat(40)),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('repeat' as const), at: fc.noBias(fc.nat(1000)) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(1000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom(...upkeep) }) },
  );
  return fc.array(step, { minLength: 10, maxLength: 40, size: 'max' });
}

/**
 * Returns the batch that the draws mean in this state. Some batches carry a key, and some of the keys come up again.
 */
export function toBatch(state: ModelState, step: Step & { do: 'commit' }): Batch {
  const batch: Mutable = {
    blobs: [],
    contexts: [],
    turns: [],
    opens: [],
    deltas: [],
    seals: [],
    patches: [],
    fsRoots: [],
    logs: [],
    docs: [],
  };
  const making: Making = { state, batch, taken: new Set() };
  for (const draw of step.draws) MAKERS[draw.kind](making, draw);
  const [context, ...others] = new Set(batch.turns.map((turn) => turn.context));
  if (step.key >= 30) return batch;
  // Few different keys, so that a batch has some that are known and some that are not.
  if (step.key >= 20) {
    const ownKey = (at: number): string => `key ${(step.key + at) % 7}`;
    return { ...batch, turns: batch.turns.map((turn, at) => ({ ...turn, key: ownKey(at) })) };
  }
  if (typeof context !== 'bigint' || others.length > 0) return batch;
  return { ...batch, idempotency: { context, key: `key ${step.key}` } };
}

function place(making: Making, draw: Draw): TurnOpen {
  const { state, batch, taken } = making;
  const { at, how } = draw;
  const creations = batch.contexts.filter((change) => change.do === 'create').length;
  const isNew = creations > 0 && how % 2 === 0;
  const context: ContextRef = isNew ? { created: at % creations } : pickFreeContext(state, draw);
  const parent = how % 5 === 0 ? { parent: how % 4 === 0 ? NO_TURN : pickTurn(state, at) } : {};
  const isFirst = typeof context === 'bigint' && take(taken, `head ${context}`);
  const head = isFirst ? (state.getContext(context)?.head ?? NO_TURN) : undefined;
  const expected = how % 7 === 0 && head !== undefined ? { expectedHead: head } : {};
  const about = { type: `type.${how % 3}`, version: 1 + (how % 2), encoding: how % 4 };
  return { context, ...about, ...parent, ...expected, ...pickRoot(making, draw) };
}

/** Now and then a turn comes with a file-system root. */
function pickRoot({ batch }: Making, draw: Draw): Pick<TurnOpen, 'fsRoot'> {
  if (draw.how % 6 !== 1) return {};
  const tree = blobOf(`tree ${draw.how % 4}`);
  batch.blobs.push(tree);
  return { fsRoot: tree.hash };
}

/** A title is one line: a server refuses control characters in it, as the store above an engine does. */
function titleOf(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '');
}

/** Few different names, so that some are taken. */
function nameOf(how: number, at: number): { name?: string } {
  return how % 4 === 0 ? {} : { name: `n${at % 5}` };
}

/** Few different texts, so that payloads repeat. */
function payload({ how, text }: Draw): BlobPut {
  return blobOf(how % 2 === 0 ? `payload ${how % 8}` : `payload ${text}`);
}

/** Now and then the choice falls on something invalid. */
function isOdd({ at }: Pick<Draw, 'at'>): boolean {
  return at % 23 === 22;
}

function pickContext(state: ModelState, at: number): ContextId {
  const there = [...state.contexts.keys()].filter((id) => state.getContext(id) !== undefined);
  const any = toContextId(1 + (at % (state.contexts.size + 1)));
  return isOdd({ at }) ? any : (there[at % there.length] ?? any);
}

/** Returns true for a context that the batch itself creates, named by its future number: two changes to one thing. */
function isToCome(state: ModelState, batch: Mutable, context: ContextId): boolean {
  return Number(context) > state.contexts.size && batch.contexts.length > 0;
}

/** Mostly picks a context without an open turn. */
function pickFreeContext(state: ModelState, { at }: Pick<Draw, 'at'>): ContextId {
  const free = [...state.contexts.keys()].filter(
    (id) => state.getContext(id)?.openTurn === NO_TURN,
  );
  return isOdd({ at })
    ? pickContext(state, at)
    : (free[at % free.length] ?? pickContext(state, at));
}

/** Mostly picks a sealed turn. */
function pickTurn(state: ModelState, at: number): TurnId {
  const sealed = [...state.turns.keys()].filter((id) => !state.openBytes.has(id));
  const any = toTurnId(1 + (at % (state.turns.size + 1)));
  return isOdd({ at }) ? any : (sealed[at % sealed.length] ?? any);
}

function pickOpen(state: ModelState, at: number): TurnId | undefined {
  const open = [...state.openBytes.keys()];
  return isOdd({ at }) ? pickTurn(state, at) : open[at % open.length];
}

function take(taken: Set<string>, what: string): boolean {
  if (taken.has(what)) return false;
  taken.add(what);
  return true;
}
