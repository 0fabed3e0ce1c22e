import { BlockList, isIP } from 'node:net';
import { invalid } from '../base/errors.ts';
import { openAccess } from './access/access.ts';
import type { Access } from './access/access.ts';
import { TokenAccess } from './access/token-access.ts';
import type { ServerOptions } from './server-options.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

export type AccessOptions = Pick<
  ServerOptions,
  'host' | 'tokenFile' | 'allowAnonymous' | 'allowHandlers' | 'log'
>;

/** The access that was chosen, and the watch that keeps it current. */
export interface ChosenAccess {
  readonly access: Access;
  /** The access in words, for the person who starts the server. */
  readonly told: string;
  readonly close: () => void;
}

/**
 * Uses tokens if there are any; without tokens, admits this machine only. INVALID for an address that others can reach
 * while there are no tokens: nobody should find out later that the store was open to all.
 */
export async function chooseAccess(options: AccessOptions): Promise<ChosenAccess> {
  const { host, tokenFile: path, allowAnonymous, allowHandlers, log } = options;
  if (allowAnonymous) {
    if (allowHandlers) {
      throw invalid(
        '--allow-handlers',
        'is for clients with a token: with --allow-anonymous every client could run commands as this user; leave out one of the two',
      );
    }
    const told = `ANYONE who can reach ${host} may read, write and erase, and bring no handlers (--allow-anonymous)`;
    if (!isLoopback(host)) log.warn({ host }, told);
    return { access: openAccess, told, close: () => undefined };
  }
  const local = isLoopback(host);
  const access = await TokenAccess.open({
    path,
    needed: !local,
    handlers: allowHandlers,
    onTrouble: (err) => log.error({ err, path }, 'nobody is let in: the tokens cannot be read'),
  });
  if (!local && access.tokenCount === 0) {
    access.close();
    throw invalid(
      '--host',
      `${host} can be reached from elsewhere, and there are no tokens in ${path}; create one with "quipu token create <name>", or say --allow-anonymous on a network that you trust`,
    );
  }
  const who = access.tokensNeeded
    ? `by token, ${access.tokenCount} known`
    : 'anyone on this machine, until there is a token';
  const told = allowHandlers ? `${who}; who is admin by token may bring handlers` : who;
  return { access, told, close: () => access.close() };
}

/** True when only this machine can reach a listener on `host`. A name that is not known to be loopback is not. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
