import { afterAll } from 'vitest';
import { connectStore } from '../../src/connect-store.ts';
import { checkpointSuite } from '../support/checkpoint-suite.ts';
import { RestartableServer } from '../support/restartable-server.ts';

let server: RestartableServer | undefined;
afterAll(() => server?.dispose());

checkpointSuite('a client of a server', async () => {
  server = await RestartableServer.start();
  const again = (): ReturnType<typeof connectStore> =>
    connectStore(`quipu://127.0.0.1:${server?.port}`);
  return { store: await again(), again };
});
