import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../chat/events/event.ts';
import { loadMessage } from '../../chat/messages/find-messages.ts';
import {
  addPart,
  inOrder,
  messagesProjection,
  type MessageParts,
} from '../../chat/projections/message-part.ts';
import { fold } from '../../chat/projections/projection.ts';
import { openRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { newChat, reopen } from './fixture.ts';
import { randomEvent } from './random-events.ts';

export function longChatSuite(target: StoreTarget): void {
  describe('a long chat', () => {
    it('reads alike from kept segments and from its events', { timeout: 60_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(randomEvent, { minLength: 60, maxLength: 90 }), async (some) => {
          const rig = await openRig(target);
          const chat = await newChat(rig);
          // The same ids meet across segments, and most events are about messages of their own.
          const all = Array.from({ length: 2300 }, (_, at): NewEvent => {
            const event = some[at % some.length];
            if (event !== undefined && at % 40 === 0) return event;
            return {
              type: 'message_added',
              payload: { message_id: `n${at}`, role: 'user', content: `${at}` },
            };
          });
          await chat.append(all);
          const written = (await chat.events({ limit: 10_000 })).events;
          const expected: MessageParts = new Map();
          for (const part of fold(messagesProjection, written).values()) addPart(expected, part);
          const whole = await Promise.all(
            inOrder(expected).map((part) => loadMessage(rig.engine, part)),
          );
          const again = await reopen(rig, 'c1');
          const shown = [];
          let before: number | undefined;
          do {
            const page = await again.messages({
              branch: '*',
              limit: 700,
              ...(before && { before }),
            });
            shown.unshift(...page.messages);
            ({ before } = page);
          } while (before !== undefined);
          expect(shown).toEqual(whole);
          for (const id of ['a', 'b', 'c', 'constructor', 'n5', 'n2290']) {
            expect(await again.message(id)).toEqual(whole.find((message) => message.id === id));
          }
          expect((await again.status()).messages).toBe(whole.length);
        }),
        // Each run takes long, and so would looking for a smaller one that fails.
        { numRuns: Math.min(6, target.randomRuns ?? 6), endOnFailure: true },
      );
    });
  });
}
