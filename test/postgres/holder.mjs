// Appends to a context, and stands still as soon as it holds the clock, or, thinking, has looked at it.
//   holder.mjs <address> <context> bounded|unbounded|thinking
import { Client } from 'pg';
import { READ_CLOCK, TAKE_CLOCK } from '../../dist/engine/postgres/feed/clock.js';
import { openPostgresEngine } from '../../dist/engine/postgres/postgres-engine.js';
import { createStore } from '../../dist/store/create-store.js';
import { Database } from '../../dist/postgres/database.js';

const [url, context, bounded] = process.argv.slice(2);
let stops = 1;
const stop = () => {
  if (stops > 0) process.kill(process.pid, 'SIGSTOP');
  stops -= 1;
};

if (bounded === 'unbounded') {
  // Broken on purpose: a transaction that nobody ends when its client stands still.
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(TAKE_CLOCK.text);
  stop();
}

/** Somebody commits whenever it has looked at the clock, so that it takes it first; then it stands still, once. */
class Holder extends Database {
  write(work) {
    return super.write((transaction) =>
      work({
        ...transaction,
        query: async (statement, values) => {
          const rows = await transaction.query(statement, values);
          if (statement === READ_CLOCK && bounded === 'thinking') stop();
          else if (statement === READ_CLOCK) await rival.query('UPDATE quipu.clock SET seq = seq');
          if (statement === TAKE_CLOCK) stop();
          return rows;
        },
      }),
    );
  }
}

const rival = new Database(url);
const store = createStore(await openPostgresEngine(new Holder(url, { connections: 3 })));
const payload = 'of the one that stood still';
await store.contexts.append(BigInt(context), { type: 'note', payload });
await store.close();
await rival.close();
