import type { ThreadId } from '../threads/thread-id.ts';
import type { WorkflowWorld } from '../workflow-world.ts';
import type { BundleHost } from './bundle-host.ts';
import type { InfoLines } from './info-lines.ts';
import type { RunResult, ThreadOptions } from './run-result.ts';
import type { RunWatch } from './run-watch.ts';

/** The parts of a run. */
export interface Run {
  readonly world: WorkflowWorld;
  readonly id: ThreadId;
  readonly host: BundleHost;
  readonly watch: RunWatch;
  readonly info: InfoLines;
  readonly options: ThreadOptions;
  /** Runs a step that is a thread of its own. */
  readonly runThread: (
    world: WorkflowWorld,
    id: ThreadId,
    options: ThreadOptions,
  ) => Promise<RunResult>;
}
