import { checkLine, kindOf } from '../base/check-text.ts';
import { invalid, isQuipuError } from '../base/errors.ts';
import type { ChatInfo, NewChat } from './chats.ts';
import type { ChatsWorld } from './chats-world.ts';
import { toInfo } from './info.ts';
import { TITLE_CHARS_MAX } from './limits.ts';
import { formatMeta, newMeta } from './meta.ts';
import { checkId, metaDoc, newId } from './names.ts';

export async function createChat({ engine, clock }: ChatsWorld, given: NewChat): Promise<ChatInfo> {
  const { title = '', pinned = false } = given;
  const id = given.id === undefined ? newId(clock()) : checkId(given.id, 'id');
  checkLine(title, 'title', TITLE_CHARS_MAX);
  if (typeof pinned !== 'boolean') throw invalid('pinned', `is a boolean, got ${kindOf(pinned)}`);
  const meta = { ...newMeta(id, title, clock()), pinned };
  const name = metaDoc(id);
  const content = formatMeta(meta);
  try {
    await engine.commit({ docs: [{ name, content, expectedVersion: 0, publish: true }] });
  } catch (error) {
    if (isQuipuError(error, 'HEAD_MOVED')) throw invalid('id', `${id} is the id of another chat`);
    throw error;
  }
  return toInfo(meta, { events: 0, bytes: 0 });
}
