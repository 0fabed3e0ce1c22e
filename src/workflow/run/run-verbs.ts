import { checkSignal, checkWhole } from '../../base/check-value.ts';
import { invalid } from '../../base/errors.ts';
import { kindOf } from '../../base/text.ts';
import { mustGetBundle, readBundleSource } from '../bundles/bundles.ts';
import { checkText } from '../home/check-input.ts';
import { checkName } from '../home/documents.ts';
import { PROMPT_BYTES_MAX, ROUNDS_DEFAULT, ROUNDS_MAX } from '../home/limits.ts';
import { newThreadId, toThreadId, type WorkflowsHome } from '../home/workflows-home.ts';
import { setPaused, hasEnded } from '../steps/write-steps.ts';
import { startThread } from '../threads/change-thread.ts';
import { readThread } from '../threads/thread-docs.ts';
import type { ThreadOptions, Workflows } from '../threads/workflows.ts';

/** The code that runs bundles is loaded when something is run. */
export function runVerbs(home: WorkflowsHome): Pick<Workflows, 'run' | 'resume'> {
  const { engine, clock, quickMs } = home;
  return {
    async run(workflow, options) {
      const name = checkName(workflow);
      const prompt = checkText(options.prompt, 'prompt', PROMPT_BYTES_MAX);
      checkRunning(options);
      const { hash } = await mustGetBundle(engine, name);
      const { BundleHost } = await import('../bundles/bundle-host.ts');
      const { runThread } = await import('./run-thread.ts');
      await using host = await BundleHost.load(await readBundleSource(engine, hash), { quickMs });
      const rounds = options.maxRounds ?? host.descriptor.maxRounds ?? ROUNDS_DEFAULT;
      const maxRounds = checkWhole(rounds, 'maxRounds', 0, ROUNDS_MAX);
      const payload = { name, hash, maxRounds, depth: 0 };
      const { id } = await startThread(home, { id: newThreadId(clock()), payload, prompt });
      options.onStart?.(id);
      return await runThread(home, id, options, host);
    },

    async resume(id, options = {}) {
      const thread = toThreadId(id);
      checkRunning(options);
      const { state, head } = await readThread(engine, thread);
      if (state === 'completed') throw hasEnded(thread, head);
      if (state === 'paused') await setPaused(home, thread, false);
      const { runThread } = await import('./run-thread.ts');
      options.onStart?.(thread);
      return runThread(home, thread, options);
    },
  };
}

function checkRunning({ signal, session }: ThreadOptions): void {
  checkSignal(signal);
  if (session !== undefined && typeof session !== 'string') {
    throw invalid('session', `must be the id or the file of a session, got ${kindOf(session)}`);
  }
}
