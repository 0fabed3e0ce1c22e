import { QuipuError, invalid } from '../base/errors.ts';

export interface Wanted {
  readonly host: string;
  readonly port: number;
  /** The options that name the address. */
  readonly hostOption: string;
  readonly portOption: string;
}

/** The reason why a listener could not be opened, with the option to change. */
export function toListenError(error: unknown, wanted: Wanted): Error {
  const { host, port, hostOption, portOption } = wanted;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new QuipuError(
      'LOCKED',
      `port ${port} on ${host} is in use by another program; stop that one, or choose a port with ${portOption}`,
      { what: 'port', owner: 'another program' },
    );
  }
  if (code === 'EACCES') {
    return invalid(
      portOption,
      `${port} needs rights that this user has not; choose one above 1023`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return invalid(hostOption, `${host} is no address of this machine (${code})`);
  }
  return error as Error;
}
