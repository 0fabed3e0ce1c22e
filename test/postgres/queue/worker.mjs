// A worker, until it is killed.
//   worker.mjs <address> <lease in ms> guarded|unguarded
import { Database } from '../../../dist/postgres/database.js';
import { QueueRings } from '../../../dist/queue/postgres/tables/event-table.js';
import { checkWork } from '../../../dist/queue/events/check-input.js';
import { LeaseTable } from '../../../dist/queue/postgres/tables/consumer-table.js';
import { Worker } from '../../../dist/queue/postgres/work/worker.js';

const [url, leaseMs, guarded] = process.argv.slice(2);
const database = new Database(url, { connections: 3 });
const world = {
  database,
  rings: new QueueRings(database),
  leases: new LeaseTable(database),
  // Unguarded is broken on purpose: handlers outlive the worker.
  guarded: guarded === 'guarded',
};
const note = ({ what }) => process.stdout.write(`${what}\n`);
await new Worker(world, checkWork({ leaseMs: Number(leaseMs), env: { URL: url }, note })).run();
