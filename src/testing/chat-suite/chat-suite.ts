import { describe } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { badLinesSuite } from './bad-lines.ts';
import { clarificationsSuite } from './clarifications.ts';
import { exportSuite } from './export.ts';
import { formatSuite } from './format.ts';
import { longChatSuite } from './long-chat.ts';
import { messagesSuite } from './messages.ts';
import { redactBatchSuite } from './redact-batch.ts';
import { redactionSuite } from './redaction.ts';
import { streamsSuite } from './streams.ts';

/** The behaviour of chats that every store must have. */
export function chatSuite(target: StoreTarget): void {
  describe(`chats on ${target.name}`, () => {
    messagesSuite(target);
    clarificationsSuite(target);
    streamsSuite(target);
    exportSuite(target);
    badLinesSuite(target);
    redactionSuite(target);
    redactBatchSuite(target);
    formatSuite(target);
    longChatSuite(target);
  });
}
