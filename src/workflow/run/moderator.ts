import type { BundleHost } from '../bundles/bundle-host.ts';
import { RunFailure } from '../bundles/run-command.ts';
import { END_ROLE } from '../home/nodes.ts';
import type { Step, ThreadContext } from '../threads/workflows.ts';
import { toRoleContext } from './run-role.ts';

/** The next move. */
export type Move =
  | { readonly role: string; readonly prompt?: string }
  | { readonly end: { readonly returnCode: number; readonly summary: string } };

/** Decides, from the steps so far, which role is next. */
export type Moderator = (last: Step | undefined, context: ThreadContext) => Promise<Move>;

const TABLE = { who: 'the table' };
const GENERATOR = { who: 'the generator' };

/** True for a step that was a thread of another workflow and did not end with 0. */
function hasFailed({ childThread, meta }: Step): boolean {
  return childThread !== undefined && meta['returnCode'] !== 0;
}

function toChildFailure({ role, childThread, meta }: Step): string {
  const { returnCode, summary } = meta;
  return `the workflow of ${role} (thread ${childThread}) ended with ${String(returnCode)}: ${String(summary)}`;
}

/**
 * The table of a bundle: the role of the last step and conditions on it. This moderator remembers nothing. After a child
 * that failed, only rules with a condition count: a table that says nothing of failures fails with its child.
 */
export function tableModerator(host: BundleHost): Moderator {
  return async (last, context) => {
    const isFailed = last !== undefined && hasFailed(last);
    const to = await host.ask('next', [last ?? null, toRoleContext(context), isFailed], TABLE);
    if (to === END_ROLE) return { end: { returnCode: 0, summary: last?.content ?? '' } };
    if (typeof to === 'string') return checkRole(host, { role: to });
    if (isFailed) throw new RunFailure(toChildFailure(last));
    throw new RunFailure(`no rule of the table fits after ${last?.role ?? 'the start'}`);
  };
}

/**
 * The generator of a bundle. Its state is gone with the process, so the moderator leads it again through the recorded
 * steps. The generator gets each of them as the answer to the move that made it, and nothing is run.
 */
export function generatorModerator(host: BundleHost, recorded: readonly Step[]): Moderator {
  let isLed = false;
  return async (last, context) => {
    if (isLed) return advance(host, last);
    isLed = true;
    await host.ask('begin', [{ ...toRoleContext(context), steps: [] }], GENERATOR);
    let move = await advance(host, undefined);
    for (const [at, step] of recorded.entries()) {
      if ('end' in move || move.role !== step.role) {
        const wants = 'end' in move ? 'ends' : `asks for ${move.role}`;
        throw new RunFailure(
          `step ${at} was one of ${step.role}, and the generator ${wants} there: it does not go the same way twice`,
        );
      }
      move = await advance(host, step);
    }
    return move;
  };
}

async function advance(host: BundleHost, step: Step | undefined): Promise<Move> {
  const answer = await host.ask('advance', [step], GENERATOR);
  const { done, value } = answer as { done?: boolean; value?: unknown };
  if (done === true) return { end: toEnd(value) };
  if (typeof value === 'string') return checkRole(host, { role: value });
  const { role, prompt } = (value ?? {}) as { role?: unknown; prompt?: unknown };
  if (typeof role !== 'string' || !(prompt === undefined || typeof prompt === 'string')) {
    throw new RunFailure('the generator yields the name of a role, or {role, prompt}');
  }
  return checkRole(host, { role, ...(prompt !== undefined && { prompt }) });
}

function checkRole(host: BundleHost, move: { role: string; prompt?: string }): Move {
  if (Object.hasOwn(host.descriptor.roles, move.role)) return move;
  throw new RunFailure(`${JSON.stringify(move.role)} is no role of ${host.descriptor.name}`);
}

function toEnd(value: unknown): { returnCode: number; summary: string } {
  if (typeof value === 'string') return { returnCode: 0, summary: value };
  const { returnCode = 0, summary = '' } = (value ?? {}) as Record<string, unknown>;
  const isCode =
    Number.isInteger(returnCode) && Number(returnCode) >= 0 && Number(returnCode) < 256;
  if (isCode && typeof summary === 'string') return { returnCode: Number(returnCode), summary };
  throw new RunFailure('the generator returns a text, or {returnCode, summary}');
}
