import { NO_TURN } from '../../../base/brand.ts';
import type { TurnId } from '../../../base/brand.ts';
import { QuipuError } from '../../../base/errors.ts';
import { leadsTo } from '../../../context/turns/read-pages.ts';
import { mustGetHead } from '../../../context/turns/read-turns.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { HeadRow } from '../../../engine/rows.ts';
import {
  FROM_NOW,
  Want,
  decodeSubscribe,
  decodeUnsubscribe,
  encodeUnsubscribe,
} from '../../../wire/subscribe.ts';
import type { Job, MessageHandler, Reply, Request } from '../request.ts';
import type { Session } from '../session.ts';
import { Subscription } from '../subscription.ts';
import { headParts } from './heads.ts';
import { contextOf } from './wire-ids.ts';

export function subscribe(engine: Engine): MessageHandler {
  return {
    name: 'SUBSCRIBE',
    needs: 'read',
    plan({ payload, reqId }: Request, session: Session): Job {
      const { after, want, ...ids } = decodeSubscribe(payload);
      const context = contextOf(ids.context);
      const subscription = new Subscription(engine, session, reqId, {
        context,
        payloads: (want & Want.PAYLOADS) !== 0,
        openTurns: (want & Want.OPEN) !== 0,
        patches: (want & Want.PATCHES) !== 0,
      });
      const run = async (): Promise<Reply> => {
        try {
          const head = await mustGetHead(engine, context);
          const position = await findPosition(engine, head, after);
          return { parts: headParts(head), sent: () => subscription.start(head, position) };
        } catch (error) {
          session.tasks.cancel(reqId);
          throw error;
        }
      };
      try {
        session.tasks.begin(reqId, subscription);
      } catch (error) {
        subscription.cancel();
        throw error;
      }
      return { order: 'read', run };
    },
  };
}

/** The position of the client; undefined before the root. The position must be on the chain of the head. */
async function findPosition(
  engine: Engine,
  head: HeadRow,
  after: bigint,
): Promise<{ id: TurnId; depth: number } | undefined> {
  if (after === 0n || (after === FROM_NOW && head.head === NO_TURN)) return undefined;
  if (after === FROM_NOW) return { id: head.head, depth: head.headDepth };
  const turn = await engine.getTurn(after as TurnId);
  if (turn !== undefined && (await leadsTo(engine, turn, head))) return turn;
  throw new QuipuError('HEAD_MOVED', `turn ${after} does not lead to the head ${head.head}`, {
    context: String(head.id),
    expected: String(after),
    head: String(head.head),
  });
}

export function unsubscribe(): MessageHandler {
  return {
    name: 'UNSUBSCRIBE',
    needs: 'read',
    plan({ payload }: Request, { tasks }: Session): Job {
      const reqId = decodeUnsubscribe(payload);
      tasks.cancel(reqId);
      return { order: 'free', run: () => Promise.resolve({ parts: encodeUnsubscribe(reqId) }) };
    },
  };
}
