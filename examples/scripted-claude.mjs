// Stands in for Claude Code in `claude-session.mjs`: it answers `finding 1`, then `finding 2`, and so on. It speaks the
// protocol of the SDK on its standard streams, and sends what Claude Code would write to its transcript.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const flag = process.argv.find((text) => /^--(resume|session-id)=/.test(text)) ?? '';
const sessionId = flag.slice(flag.indexOf('=') + 1);
const config = process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), '.claude');
const project = process.cwd().replaceAll(/[^a-zA-Z0-9]/g, '-');
const filePath = join(config, 'projects', project, `${sessionId}.jsonl`);

// A session that is resumed is there as a file, which the SDK has made from the store.
const lines = existsSync(filePath) ? readFileSync(filePath, 'utf8').trimEnd().split('\n') : [];
const entries = lines.map((line) => JSON.parse(line));

const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);

function keep(role, content) {
  const entry = {
    type: role,
    uuid: randomUUID(),
    parentUuid: entries.at(-1)?.uuid ?? null,
    sessionId,
    timestamp: new Date().toISOString(),
    message: { role, content },
  };
  entries.push(entry);
  send({ type: 'transcript_mirror', filePath, entries: [entry] });
  return entry;
}

async function answer({ content }) {
  keep('user', content);
  await sleep(50);
  const text = `finding ${entries.filter(({ type }) => type === 'assistant').length + 1}`;
  const { uuid, message } = keep('assistant', [{ type: 'text', text }]);
  send({ type: 'assistant', uuid, session_id: sessionId, parent_tool_use_id: null, message });
  await sleep(50);
  send({
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: text,
    session_id: sessionId,
    uuid: randomUUID(),
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const frame = JSON.parse(line);
  if (frame.type === 'user') await answer(frame.message);
  else if (frame.type === 'control_request') {
    const response = { subtype: 'success', request_id: frame.request_id, response: {} };
    send({ type: 'control_response', response });
  }
}
