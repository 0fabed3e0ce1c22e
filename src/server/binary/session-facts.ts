import type { Socket } from 'node:net';
import type { SessionFacts } from './hooks.ts';

/** The facts about a connection before the client has said anything. */
export function factsOf({ remoteAddress, remotePort }: Socket, id: bigint): SessionFacts {
  const remote = remoteAddress === undefined ? '' : `${remoteAddress}:${remotePort ?? 0}`;
  return { id, remote, identity: undefined, tag: '' };
}
