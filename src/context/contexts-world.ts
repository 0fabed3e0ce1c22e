import type { Engine } from '../engine/engine.ts';
import type { PayloadRules } from './payloads/encode-payload.ts';
import type { Lifetime } from '../base/lifetime.ts';
import type { ReadPage } from './turns/loaded-page.ts';

/** The context in which every verb on contexts and turns works. */
export interface ContextsWorld {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  readonly rules: PayloadRules;
  readonly readPage: ReadPage;
}
