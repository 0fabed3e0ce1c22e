import type { Hash } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import { readState } from '../nodes/node-reader.ts';
import { COMPACT_ROLE } from '../nodes/nodes.ts';
import type { StatePayload } from '../nodes/nodes.ts';
import { readThread } from '../threads/read-thread.ts';
import type { Step } from '../threads/thread.ts';
import { writeStep } from '../steps/write-steps.ts';
import type { StepRequest } from '../steps/write-steps.ts';
import type { RoleOutcome } from './run-role.ts';
import type { Run } from './run.ts';

/** Records the result of a role behind the head that the thread had when the role began. */
export async function recordStep(
  run: Run,
  expectedHead: Hash,
  said: Pick<StatePayload, 'role' | 'compact' | 'childThread'>,
  { content, meta, artifacts, puts }: RoleOutcome,
): Promise<Step> {
  const { world, id, host, info } = run;
  info.addOutput(host.takeOutput());
  const payload = { ...said, meta, timestamp: world.clock() };
  const draft = { payload, content, artifacts };
  const lines = info.take();
  const write = (head: Hash): Promise<Step> => {
    const request: StepRequest = { draft, puts, expectedHead: head, info: lines };
    return writeStep(world, id, request, (state, found) => {
      const { child: _, ...rest } = found.note.value;
      const compacts = said.compact === undefined ? {} : { compact: state.hash };
      const changed = found.note.value.child !== undefined || said.compact !== undefined;
      return changed ? { note: { ...rest, ...compacts } } : {};
    });
  };
  try {
    return await write(expectedHead);
  } catch (error) {
    const head = await headBehindSummary(run, expectedHead, error);
    if (head === undefined) throw error;
    return write(head);
  }
}

/** A summary from outside that came while the role was at work says nothing new: the step goes behind it. */
async function headBehindSummary(
  { world: { engine }, id }: Run,
  before: Hash,
  error: unknown,
): Promise<Hash | undefined> {
  if (!isQuipuError(error, 'HEAD_MOVED') || error.data.context !== id) return undefined;
  const { head, start } = await readThread(engine, id);
  if (head === start) return undefined;
  const { payload, refs } = await readState(engine, head);
  const isSummary = payload.role === COMPACT_ROLE && (refs[1] ?? start) === before;
  return isSummary ? head : undefined;
}
