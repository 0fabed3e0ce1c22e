import type { ChatEvent } from '../events/event.ts';
import { BRANCHES_MAX } from '../limits.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { Projection } from '../projection.ts';

/** A second continuation of the chat from a message, beside the first. */
export interface Branch {
  readonly id: string;
  readonly parentMessage: string;
  /** The event that forked it. */
  readonly seq: number;
  readonly at: string;
}

/** All branches but the main one. A second fork of the same name changes nothing. */
export const branchesProjection: Projection<readonly Branch[]> = {
  name: 'branches',
  version: 1,
  initial: () => [],
  apply(branches: readonly Branch[], { type, payload, seq, at }: ChatEvent): readonly Branch[] {
    if (type !== 'thread_forked' || branches.length >= BRANCHES_MAX) return branches;
    const id = String(payload['new_thread_id']);
    if (id === MAIN_BRANCH || branches.some((branch) => branch.id === id)) return branches;
    return [...branches, { id, parentMessage: String(payload['parent_message_id']), seq, at }];
  },
};
