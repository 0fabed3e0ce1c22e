import type { Engine } from '../../engine/engine.ts';
import { only } from '../../base/check-value.ts';
import { appendVerbs } from '../turns/append-verbs.ts';
import type { ContextsParts, ReadPage } from '../turns/loaded-page.ts';
import type { Contexts, ForkOptions } from '../contexts.ts';
import { followVerbs } from '../following/follow-verbs.ts';
import { fsRootVerbs, patchVerbs } from '../patches/patch-verbs.ts';
import { Lifetime } from '../../base/lifetime.ts';
import { HEADS_MAX, PAYLOAD_BYTES_MAX } from '../limits.ts';
import { pinVerbs } from '../pins/pin-verbs.ts';
import { readPage } from '../turns/read-pages.ts';
import { readVerbs } from '../turns/read-verbs.ts';
import { toContextId, toTurnId, type ContextId, type ContextIdLike } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import { jsonable } from '../../base/jsonable.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import type { ContextChange } from '../../engine/batch.ts';
import type { ContextMeta } from '../../engine/rows.ts';
import {
  checkKept,
  checkKey,
  checkList,
  checkContextName,
  checkDetails,
  mergeDetails,
} from '../check-input.ts';
import { toContext, type Context } from '../context.ts';
import { noContext } from '../turns/read-turns.ts';
import { given } from '../../base/given.ts';

export interface ContextsOptions {
  /** The largest payload of a turn, default just under 64 MiB. */
  readonly maxPayloadBytes?: number;
  /** Ends every iteration and refuses calls once closed. */
  readonly lifetime?: Lifetime;
  /** Reads pages, when there is a faster way than record by record. */
  readonly readPage?: ReadPage;
}

/** Erasing is upkeep of the whole store, so the store adds that verb. */
export type ContextsAlone = Omit<Contexts, 'erase'>;

export function createContexts(engine: Engine, options: ContextsOptions = {}): ContextsAlone {
  const { maxPayloadBytes = PAYLOAD_BYTES_MAX } = options;
  const parts: ContextsParts = {
    engine,
    lifetime: options.lifetime ?? new Lifetime(),
    rules: { maxPayloadBytes },
    readPage: options.readPage ?? ((request, read) => readPage(engine, request, read)),
  };
  return parts.lifetime.guard('contexts', {
    ...contextVerbs(parts),
    ...nameVerbs(parts),
    ...appendVerbs(parts),
    ...patchVerbs(parts),
    ...fsRootVerbs(parts),
    ...pinVerbs(parts),
    ...readVerbs(parts),
    ...followVerbs(parts),
  });
}

type ContextVerbs = Pick<
  Contexts,
  'create' | 'fork' | 'get' | 'heads' | 'moveHead' | 'list' | 'update' | 'remove'
>;

function contextVerbs({ engine }: ContextsParts): ContextVerbs {
  // An update reads the details and writes all of them. Two updates at once would lose the fields of one.
  const updates = new OneAtATime<ContextId>();

  return {
    async create(options = {}) {
      const base = options.base === undefined ? {} : { base: toTurnId(options.base) };
      return changeContext(engine, { do: 'create', ...base, ...forkDetails(options) });
    },

    async fork(turn, options = {}) {
      return changeContext(engine, { do: 'create', base: toTurnId(turn), ...forkDetails(options) });
    },

    async get(id) {
      const row = await engine.getContext(toContextId(id));
      return row && toContext(row);
    },

    async heads(ids) {
      if (!Array.isArray(ids) || ids.length > HEADS_MAX) {
        throw invalid('ids', `must be a list of at most ${HEADS_MAX} ids`);
      }
      const known = new Set(ids.map((id: ContextIdLike) => toContextId(id)));
      const heads = [...known].toSorted((a, b) => Number(a - b));
      return (await engine.getMany({ heads })).heads.map((head) => jsonable({ ...head }));
    },

    async moveHead(id, head, options = {}) {
      const { expectedHead } = options;
      const expected =
        expectedHead === undefined ? {} : { expectedHead: toTurnId(expectedHead, true) };
      const to = { context: toContextId(id), head: toTurnId(head, true) };
      const { contexts: kept = [] } = checkKept(options);
      return changeContext(engine, ...kept, { do: 'move', ...to, ...expected });
    },

    async list(options = {}) {
      const { rows, cursor, total } = await engine.listContexts(checkList(options));
      return { items: rows.map(toContext), ...given({ cursor, total }) };
    },

    async update(id, change) {
      const context = toContextId(id);
      mergeDetails({}, change);
      return updates.run(context, async () => {
        const row = await engine.getContext(context);
        if (row === undefined) throw noContext(context);
        const meta = mergeDetails(row.meta, change);
        return changeContext(engine, { do: 'describe', context, meta });
      });
    },

    async remove(id) {
      await engine.commit({ contexts: [{ do: 'remove', context: toContextId(id) }] });
    },
  };
}

type NameVerbs = Pick<Contexts, 'getOrCreate' | 'byName' | 'rename'>;

/** The engine decides who has a name: whoever asks it at the same time gets the same context. */
function nameVerbs({ engine }: ContextsParts): NameVerbs {
  return {
    async getOrCreate(name, defaults = {}) {
      const { base, ...details } = defaults;
      const meta = checkDetails({ ...details, name: checkContextName(name) });
      const from = base === undefined ? {} : { base: toTurnId(base) };
      return changeContext(engine, { do: 'create', ...from, meta, getNamed: true });
    },

    async byName(name) {
      const row = await engine.findContext(checkContextName(name));
      return row && toContext(row);
    },

    async rename(id, name) {
      const named = name === null ? {} : { name: checkContextName(name) };
      return changeContext(engine, { do: 'rename', context: toContextId(id), ...named });
    },
  };
}

/** Returns the context of the last change. */
async function changeContext(engine: Engine, ...changes: ContextChange[]): Promise<Context> {
  const { contexts } = await engine.commit({ contexts: changes });
  return toContext(only(contexts.slice(-1)));
}

function forkDetails(options: ForkOptions): { meta: ContextMeta; key?: string } {
  const key = checkKey(options);
  return { meta: checkDetails(options), ...(key !== undefined && { key }) };
}
