import type { Statement } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import type { Draft, LogDraft } from '../../plan/draft.ts';
import type { Totals } from './clock.ts';
import type { View } from './view.ts';

const DROP_LOGS: Statement = {
  name: 'drop-logs',
  text: 'DELETE FROM quipu.logs WHERE name = ANY($1::text[])',
};

const DROP_LINES: Statement = {
  name: 'drop-lines',
  text: 'DELETE FROM quipu.log_lines WHERE name = ANY($1::text[])',
};

const PUT_LOGS: Statement = {
  name: 'put-logs',
  text: `INSERT INTO quipu.logs (name, lines, bytes) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])
    ON CONFLICT (name) DO UPDATE SET lines = excluded.lines, bytes = excluded.bytes`,
};

const PUT_LINES: Statement = {
  name: 'put-lines',
  text: 'INSERT INTO quipu.log_lines (name, nth, line) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])',
};

const PUT_DOCS: Statement = {
  name: 'put-docs',
  text: `INSERT INTO quipu.docs (name, version, content, published, updated_at)
    SELECT n.*, $5::bigint FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) n
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, content = excluded.content,
      published = excluded.published, updated_at = excluded.updated_at`,
};

export interface RecordWrites {
  readonly draft: Draft;
  readonly view: View;
  readonly totals: Totals;
}

export function writeRecords(transaction: Transaction, writes: RecordWrites): void {
  const { draft, view, totals } = writes;
  const logs = [...draft.logs.entries()];
  for (const [name, { state }] of logs) {
    totals.logs += (state === undefined ? 0 : 1) - (view.hadLog(name) ? 1 : 0);
  }
  writeLogs(transaction, logs);
  const docs = [...draft.docs.entries()].map(([, { record }]) => record);
  if (docs.length === 0) return;
  for (const { name, content } of docs) {
    const before = view.findDoc(name);
    totals.docs +=
      (content === undefined ? 0 : 1) - (before === undefined || before.removed ? 0 : 1);
  }
  transaction.send(PUT_DOCS, [
    docs.map(({ name }) => name),
    docs.map(({ version }) => version),
    docs.map(({ content }) => content ?? null),
    docs.map(({ published }) => published),
    draft.nowMs,
  ]);
}

function writeLogs(transaction: Transaction, logs: readonly (readonly [string, LogDraft])[]): void {
  const removed = logs.filter(([, log]) => log.removed).map(([name]) => name);
  if (removed.length > 0) {
    transaction.send(DROP_LOGS, [removed]);
    transaction.send(DROP_LINES, [removed]);
  }
  const kept = logs.flatMap(([name, { state, base, text }]) =>
    state === undefined ? [] : [{ name, state, base, text }],
  );
  if (kept.length === 0) return;
  transaction.send(PUT_LOGS, [
    kept.map(({ name }) => name),
    kept.map(({ state }) => state.lines),
    kept.map(({ state }) => state.bytes),
  ]);
  const lines = kept.flatMap(({ name, base, text }) =>
    text
      .slice(0, -1)
      .split('\n')
      .map((line, at) => ({ name, nth: base.lines + at, line })),
  );
  transaction.send(PUT_LINES, [
    lines.map(({ name }) => name),
    lines.map(({ nth }) => nth),
    lines.map(({ line }) => line),
  ]);
}
