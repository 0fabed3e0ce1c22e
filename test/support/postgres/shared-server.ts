import type { TestProject } from 'vitest/node';
import { PostgresServer } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the server that all files of the project `postgres` share. */
    postgresUrl: string;
  }
}

/** Runs once, before the first test that needs PostgreSQL, and never when there is none. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await PostgresServer.start();
  project.provide('postgresUrl', server.url);
  return () => server.dispose();
}
