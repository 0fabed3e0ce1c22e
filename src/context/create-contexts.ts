import type { Engine } from '../engine/engine.ts';
import type { EncodingName } from '../format/turn-record.ts';
import { appendVerbs } from './turns/append-verbs.ts';
import { contextVerbs } from './context-verbs.ts';
import type { ContextsWorld } from './contexts-world.ts';
import type { Contexts } from './contexts.ts';
import type { Canonicaliser } from './payloads/encode-payload.ts';
import { followVerbs } from './following/follow-verbs.ts';
import { fsRootVerbs } from './patches/fs-root-verbs.ts';
import { Lifetime } from '../base/lifetime.ts';
import { PAYLOAD_BYTES_MAX } from './limits.ts';
import type { ReadPage } from './turns/loaded-page.ts';
import { patchVerbs } from './patches/patch-verbs.ts';
import { pinVerbs } from './pins/pin-verbs.ts';
import { readPage } from './turns/read-pages.ts';
import { readVerbs } from './turns/read-verbs.ts';

export interface ContextsOptions {
  /** The largest payload of a turn, default just under 64 MiB. */
  readonly maxPayloadBytes?: number;
  /** Encoders that give equal payloads equal bytes, in place of the encoding's own. */
  readonly canonicalisers?: Partial<Record<EncodingName, Canonicaliser>>;
  /** Ends every iteration and refuses calls once closed. */
  readonly lifetime?: Lifetime;
  /** Reads pages, when there is a faster way than record by record. */
  readonly readPage?: ReadPage;
}

/** Erasing is upkeep of the whole store, so the store adds that verb. */
export type ContextsAlone = Omit<Contexts, 'erase'>;

export function createContexts(engine: Engine, options: ContextsOptions = {}): ContextsAlone {
  const { maxPayloadBytes = PAYLOAD_BYTES_MAX, canonicalisers = {} } = options;
  const world: ContextsWorld = {
    engine,
    lifetime: options.lifetime ?? new Lifetime(),
    rules: { maxPayloadBytes, canonicalisers },
    readPage: options.readPage ?? ((request, read) => readPage(engine, request, read)),
  };
  return {
    ...contextVerbs(world),
    ...appendVerbs(world),
    ...patchVerbs(world),
    ...fsRootVerbs(world),
    ...pinVerbs(world),
    ...readVerbs(world),
    ...followVerbs(world),
  };
}
