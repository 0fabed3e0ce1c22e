import type { Found } from './findings.ts';
import type { Quarantine } from './quarantine.ts';
import type { StateWriter } from './state.ts';

export interface Mend {
  readonly writer: StateWriter;
  /** Everything that the check found. A truth picks what is its own. */
  readonly found: readonly Found[];
  readonly quarantine: Quarantine;
}

export interface Mending {
  /** Whether the index must be right first. It is rebuilt after the files, if at all. */
  readonly after: 'nothing' | 'index';
  readonly run: (mend: Mend) => Promise<void>;
}
