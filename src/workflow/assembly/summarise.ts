import type { Hash } from '../../base/brand.ts';
import { kindOf } from '../../base/check-text.ts';
import { invalid } from '../../base/errors.ts';
import { assembleContext } from './assemble-context.ts';
import { renderContext } from './render-context.ts';
import { runCommand } from '../run/run-command.ts';
import type { ThreadId } from '../threads/thread-id.ts';
import type { WorkflowWorld } from '../workflow-world.ts';
import type { Summarise } from '../workflows.ts';

/** The summary, and the head it was written for. */
export async function summariseThread(
  world: WorkflowWorld,
  id: ThreadId,
  summarise: Summarise,
): Promise<{ text: string; head: Hash }> {
  const context = await assembleContext(world.engine, id);
  const { head } = context.thread;
  if (typeof summarise === 'string') return { text: summarise, head };
  if (typeof summarise === 'function') return { text: await summarise(context), head };
  if (kindOf(summarise) !== 'object' || typeof summarise.command !== 'string') {
    throw invalid('summarise', 'is a text, a function or {command}');
  }
  const { command, signal } = summarise;
  const text = await runCommand(command, { input: renderContext(context), signal });
  return { text, head };
}
