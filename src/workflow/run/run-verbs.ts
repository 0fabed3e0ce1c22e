import { kindOf } from '../../base/check-text.ts';
import { invalid } from '../../base/errors.ts';
import { checkSignal, checkText, checkWhole } from '../check-input.ts';
import { PROMPT_BYTES_MAX, ROUNDS_DEFAULT, ROUNDS_MAX } from '../limits.ts';
import { checkName } from '../names.ts';
import { mustGetBundle, readBundleSource } from '../bundles/registry-doc.ts';
import { startThread } from '../threads/start-thread.ts';
import { newThreadId, toThreadId } from '../threads/thread-id.ts';
import type { WorkflowWorld } from '../workflow-world.ts';
import type { Workflows } from '../workflows.ts';
import { setPaused } from '../threads/set-paused.ts';
import { readThread } from '../threads/read-thread.ts';
import { hasEnded } from '../steps/write-steps.ts';
import type { RunOptions, RunResult, ThreadOptions } from './run-result.ts';

/** The code that runs bundles is loaded when something is run. */
export function runVerbs(world: WorkflowWorld): Pick<Workflows, 'run' | 'resume'> {
  const { engine, lifetime, clock, quickMs } = world;
  return {
    async run(workflow: string, options: RunOptions): Promise<RunResult> {
      lifetime.assertOpen('workflows.run');
      const name = checkName(workflow);
      const prompt = checkText(options.prompt, 'prompt', PROMPT_BYTES_MAX);
      checkRunning(options);
      const { hash } = await mustGetBundle(engine, name);
      const { BundleHost } = await import('./bundle-host.ts');
      const { runThread } = await import('./run-thread.ts');
      await using host = await BundleHost.load(await readBundleSource(engine, hash), quickMs);
      const rounds = options.maxRounds ?? host.descriptor.maxRounds ?? ROUNDS_DEFAULT;
      const maxRounds = checkWhole(rounds, 'maxRounds', 0, ROUNDS_MAX);
      const payload = { name, hash, maxRounds, depth: 0 };
      const { id } = await startThread(world, { id: newThreadId(clock()), payload, prompt });
      options.onStart?.(id);
      return await runThread(world, id, options, host);
    },

    async resume(id: string, options: ThreadOptions = {}): Promise<RunResult> {
      lifetime.assertOpen('workflows.resume');
      const thread = toThreadId(id);
      checkRunning(options);
      const { state, head } = await readThread(engine, thread);
      if (state === 'completed') throw hasEnded(thread, head);
      if (state === 'paused') await setPaused(world, thread, false);
      const { runThread } = await import('./run-thread.ts');
      options.onStart?.(thread);
      return runThread(world, thread, options);
    },
  };
}

function checkRunning({ signal, session }: ThreadOptions): void {
  checkSignal(signal);
  if (session !== undefined && typeof session !== 'string') {
    throw invalid('session', `is the id or the file of a session, got ${kindOf(session)}`);
  }
}
