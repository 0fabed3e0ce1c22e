import type { Build } from '../build.ts';
import { workflowAdd } from '../commands/workflow-add.ts';
import { workflowCompact } from '../commands/workflow-compact.ts';
import { workflowEnd } from '../commands/workflow-end.ts';
import { workflowFork } from '../commands/workflow-fork.ts';
import { workflowHistory } from '../commands/workflow-history.ts';
import { workflowKill } from '../commands/workflow-kill.ts';
import { workflowList } from '../commands/workflow-list.ts';
import { workflowLive } from '../commands/workflow-live.ts';
import { workflowPause } from '../commands/workflow-pause.ts';
import { workflowResume } from '../commands/workflow-resume.ts';
import { workflowRm } from '../commands/workflow-rm.ts';
import { workflowRollback } from '../commands/workflow-rollback.ts';
import { workflowRun } from '../commands/workflow-run.ts';
import { workflowShow } from '../commands/workflow-show.ts';
import { workflowStart } from '../commands/workflow-start.ts';
import { workflowStep } from '../commands/workflow-step.ts';

export const workflowCommands: readonly Build[] = [
  workflowAdd,
  workflowList,
  workflowShow,
  workflowRm,
  workflowHistory,
  workflowRollback,
  workflowRun,
  workflowResume,
  workflowPause,
  workflowKill,
  workflowFork,
  workflowCompact,
  workflowLive,
  workflowStart,
  workflowStep,
  workflowEnd,
];
