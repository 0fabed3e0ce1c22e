import { encodeText } from '../nodes/encode-node.ts';
import { SUMMARY_BYTES_MAX } from '../limits.ts';
import { checkText } from '../check-input.ts';
import type { Step, ThreadContext } from '../threads/thread.ts';
import { recordStep } from './record-step.ts';
import { runChild } from './run-child.ts';
import { runRole } from './run-role.ts';
import { RunFailure } from './run-failure.ts';
import type { Run } from './run.ts';

export interface RoleMove {
  readonly role: string;
  readonly prompt?: string;
}

/** Runs a role and records its result. Returns undefined when the role was stopped half-way: nothing is recorded. */
export async function takeStep(
  run: Run,
  { role: name, prompt }: RoleMove,
  context: ThreadContext,
): Promise<Step | undefined> {
  const { world, host, watch, info, options } = run;
  const role = host.descriptor.roles[name];
  if (role === undefined) throw new RunFailure(`${name} is no role`);
  info.add('info', `${name} begins`);
  const expectedHead = context.thread.head;
  if (role.workflow !== undefined) {
    const child = await runChild(run, role.workflow, { context, prompt });
    if (child === undefined) return undefined;
    const { outcome, thread } = child;
    return recordStep(run, expectedHead, { role: name, childThread: thread }, outcome);
  }
  const asked = prompt === undefined ? context : withPrompt(context, prompt);
  const { signal } = watch;
  const note = (level: string, message: string): void =>
    info.add(level === 'warn' ? 'warn' : 'info', message);
  const { cwd, session } = options;
  const call = { name, role, context: asked, host, signal, cwd, session, note };
  const outcome = await runRole(world, call);
  if (role.compact !== true) return recordStep(run, expectedHead, { role: name }, outcome);
  const summary = encodeText(checkText(outcome.content, 'summary', SUMMARY_BYTES_MAX));
  const said = { role: name, compact: summary.hash };
  return recordStep(run, expectedHead, said, { ...outcome, content: '', puts: [summary] });
}

/** The prompt of this step alone comes last, where a reader looks. */
function withPrompt(context: ThreadContext, prompt: string): ThreadContext {
  const { start } = context;
  return { ...context, start: { ...start, prompt: `${start.prompt}\n\n${prompt}` } };
}
