import { isFields } from '../../base/fields.ts';
import { type ChatEvent, type ChatProblem } from '../events/event.ts';
import { PROBLEMS_LISTED_MAX, BRANCHES_MAX, HIDDEN_MAX } from '../events/limits.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { ReadLine } from '../events/read-line.ts';
import {
  addPlace,
  clarificationProblem,
  clarificationProjection,
  type BatchPlace,
  type Clarification,
} from './clarification.ts';
import type { Projection } from './projection.ts';

/** A second continuation of the chat from a message, beside the first. */
export interface Branch {
  readonly id: string;
  readonly parentMessage: string;
  /** The branch goes on from where the message stands, without the message. */
  readonly before?: true;
  /** The event that forked it. */
  readonly seq: number;
  readonly at: string;
}

/** All branches but the main one. A second fork of the same name changes nothing. */
export const branchesProjection: Projection<readonly Branch[]> = {
  name: 'branches',
  version: 2,
  initial: () => [],
  apply(branches, { type, payload, seq, at }) {
    if (type !== 'thread_forked' || branches.length >= BRANCHES_MAX) return branches;
    const id = String(payload['new_thread_id']);
    if (id === MAIN_BRANCH || branches.some((branch) => branch.id === id)) return branches;
    const parentMessage = String(payload['parent_message_id']);
    const before = payload['before'] === true ? ({ before: true } as const) : {};
    return [...branches, { id, parentMessage, ...before, seq, at }];
  },
};

/**
 * The subjects of redactions. The redaction of a message counts when the message had begun, which other code checks.
 */
export interface Hidden {
  readonly messages: readonly string[];
  readonly batches: readonly string[];
}

function addHidden(hidden: Hidden, { type, payload }: ChatEvent): Hidden {
  if (type === 'message_redacted') {
    return { ...hidden, messages: withId(hidden.messages, payload['message_id']) };
  }
  if (type === 'clarification_batch_redacted') {
    return { ...hidden, batches: withId(hidden.batches, payload['batch_id']) };
  }
  return hidden;
}

function withId(ids: readonly string[], id: unknown): readonly string[] {
  const isFull = ids.length >= HIDDEN_MAX;
  return isFull || typeof id !== 'string' || ids.includes(id) ? ids : [...ids, id];
}

/** Types and roles are counted one by one up to this many; the rest are counted together. */
const NAMES_MAX = 64;
const OTHERS = 'others';

export interface Usage {
  readonly events: number;
  readonly byType: Readonly<Record<string, number>>;
  /** Messages begun or completed at once, by role; streamed messages count when they are completed. */
  readonly byRole: Readonly<Record<string, number>>;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly firstAt?: string;
  readonly lastAt?: string;
}

export const usageProjection: Projection<Usage> = {
  name: 'usage',
  version: 1,
  initial: () => ({ events: 0, byType: {}, byRole: {}, inputTokens: 0, outputTokens: 0 }),
  apply(usage, { type, payload, at }) {
    const role = payload['role'];
    const counts = type === 'message_added' || type === 'message_completed';
    const tokens = isFields(payload['usage']) ? payload['usage'] : {};
    return {
      events: usage.events + 1,
      byType: countIn(usage.byType, type),
      byRole: counts && typeof role === 'string' ? countIn(usage.byRole, role) : usage.byRole,
      inputTokens: usage.inputTokens + amountOf(tokens['input_tokens']),
      outputTokens: usage.outputTokens + amountOf(tokens['output_tokens']),
      firstAt: usage.firstAt ?? at,
      lastAt: at,
    };
  },
};

function countIn(counts: Usage['byType'], name: string): Usage['byType'] {
  const isKnown = Object.hasOwn(counts, name) || Object.keys(counts).length < NAMES_MAX;
  // "__proto__" is a name like any other only when it is defined, not assigned.
  const counted = isKnown && name !== '__proto__' ? name : OTHERS;
  const before = Object.hasOwn(counts, counted) ? (counts[counted] ?? 0) : 0;
  return { ...counts, [counted]: before + 1 };
}

function amountOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** All small facts about a chat, however long the chat is. */
export interface Overview {
  readonly usage: Usage;
  readonly clarification: Clarification;
  /** All batches of questions, in the order they were opened. */
  readonly batches: readonly BatchPlace[];
  readonly branches: readonly Branch[];
  readonly hidden: Hidden;
  /** The first problems, and the number of all. */
  readonly problems: readonly ChatProblem[];
  readonly problemCount: number;
  /** Types that were reported: each is reported once. */
  readonly strangers: readonly string[];
}

export function emptyOverview(): Overview {
  return {
    usage: usageProjection.initial(),
    clarification: clarificationProjection.initial(),
    batches: [],
    branches: branchesProjection.initial(),
    hidden: { messages: [], batches: [] },
    problems: [],
    problemCount: 0,
    strangers: [],
  };
}

/** Returns the overview with one more line in it, readable or not. */
export function addLine(overview: Overview, line: ReadLine): Overview {
  const noted = line.problem === undefined ? overview : report(overview, line.problem, line);
  return line.event === undefined ? noted : addEvent(noted, line.event);
}

function addEvent(overview: Overview, event: ChatEvent): Overview {
  const { clarification } = overview;
  const problem = clarificationProblem(clarification, event);
  const noted = problem === undefined ? overview : report(overview, problem);
  const after = clarificationProjection.apply(clarification, event);
  return {
    ...noted,
    usage: usageProjection.apply(overview.usage, event),
    clarification: after,
    batches: addPlace(overview.batches, event, { before: clarification, after }),
    branches: branchesProjection.apply(overview.branches, event),
    hidden: addHidden(overview.hidden, event),
  };
}

function report(overview: Overview, problem: ChatProblem, line?: ReadLine): Overview {
  const { problems, problemCount, strangers } = overview;
  const type = line?.written?.type;
  const isOfType = problem.kind === 'unknown-type' || problem.kind === 'newer-version';
  if (isOfType && type !== undefined) {
    const name = `${type}@${line?.written?.schema_version ?? 0}`.slice(0, 200);
    if (strangers.includes(name)) return overview;
    if (strangers.length < PROBLEMS_LISTED_MAX) {
      return report({ ...overview, strangers: [...strangers, name] }, problem);
    }
  }
  return {
    ...overview,
    problems: problems.length < PROBLEMS_LISTED_MAX ? [...problems, problem] : problems,
    problemCount: problemCount + 1,
  };
}
