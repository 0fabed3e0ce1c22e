import type { Finding } from './finding.ts';
import { fail, ok, reasonOf, warn } from './finding.ts';

const HEALTH_MS = 5000;

/** Reads the health report that an HTTP server gives to anyone who asks. */
export async function checkHealth(address: string, version: string): Promise<Finding> {
  const url = new URL('/healthz', address);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS) });
    const said = (await response.json()) as {
      readonly status?: unknown;
      readonly version?: unknown;
    };
    if (typeof said.status !== 'string' || typeof said.version !== 'string') {
      return fail('server', `${url.host} is not a Quipu server`, 'check the address');
    }
    const found = `${said.status}, version ${said.version}`;
    if (!response.ok) return fail('server', found, 'see its log');
    if (said.version === version) return ok('server', found);
    return warn('server', `${found}, and this is ${version}`, 'use the same version on both sides');
  } catch (error) {
    const { cause } = error as Error;
    const reason = reasonOf(cause instanceof Error && cause.message !== '' ? cause : error);
    return fail(
      'server',
      `does not answer: ${reason}`,
      'is it running? Check the address and port',
    );
  }
}
