import type { ChatEvent, ChatProblem } from '../events/event.ts';
import { PROBLEMS_LISTED_MAX } from '../limits.ts';
import type { ReadLine } from '../events/read-line.ts';
import { branchesProjection } from './branches.ts';
import type { Branch } from './branches.ts';
import { clarificationProblem, clarificationProjection } from './clarification.ts';
import type { Clarification } from './clarification.ts';
import { hiddenProjection } from './hidden.ts';
import type { Hidden } from './hidden.ts';
import { usageProjection } from './usage.ts';
import type { Usage } from './usage.ts';

/** All small facts about a chat, however long the chat is. */
export interface Overview {
  readonly usage: Usage;
  readonly clarification: Clarification;
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
    branches: branchesProjection.initial(),
    hidden: hiddenProjection.initial(),
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
  return {
    ...noted,
    usage: usageProjection.apply(overview.usage, event),
    clarification: clarificationProjection.apply(clarification, event),
    branches: branchesProjection.apply(overview.branches, event),
    hidden: hiddenProjection.apply(overview.hidden, event),
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
