import { afterAll } from 'vitest';
import { connectStore } from '../../src/connect-store.ts';
import { adapterSuites } from '../support/adapter-suites.ts';
import { RestartableServer } from '../support/restartable-server.ts';

let server: RestartableServer | undefined;
afterAll(() => server?.dispose());

adapterSuites('a client of a server', async () => {
  server = await RestartableServer.start();
  return connectStore(`quipu://127.0.0.1:${server.port}`);
});
