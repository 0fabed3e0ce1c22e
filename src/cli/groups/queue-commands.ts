import type { Build } from '../build.ts';
import { queueCreate } from '../commands/queue-create.ts';
import { queueDispatch } from '../commands/queue-dispatch.ts';
import { queueFollow } from '../commands/queue-follow.ts';
import { queueInfo } from '../commands/queue-info.ts';
import { queueList } from '../commands/queue-list.ts';
import { queuePeek } from '../commands/queue-peek.ts';
import { queuePop } from '../commands/queue-pop.ts';
import { queuePush } from '../commands/queue-push.ts';
import { queueSubscribe } from '../commands/queue-subscribe.ts';
import { queueUnsubscribe } from '../commands/queue-unsubscribe.ts';
import { queueWork } from '../commands/queue-work.ts';

export const queueCommands: readonly Build[] = [
  queueCreate,
  queueList,
  queueInfo,
  queuePush,
  queuePeek,
  queueSubscribe,
  queueUnsubscribe,
  queuePop,
  queueDispatch,
  queueWork,
  queueFollow,
];
