import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { invalid } from '../base/errors.ts';
import type { Log } from './log/log.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The certificate and the key as PEM texts. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/**
 * Throws INVALID, with the file, if no handshake could succeed. A certificate that is expired or not yet valid is only
 * logged.
 */
export async function readTls(files: TlsFiles, log: Log, nowMs: number): Promise<Tls> {
  const cert = await readText('--tls-cert', files.certFile);
  const key = await readText('--tls-key', files.keyFile);
  const parsed = parseCertificate(cert, files.certFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const reason = (error as Error).message;
    throw invalid('--tls-key', `${files.keyFile} does not fit the certificate: ${reason}`);
  }
  const { validFrom, validTo } = parsed;
  if (Date.parse(validFrom) > nowMs || Date.parse(validTo) < nowMs) {
    log.warn({ validFrom, validTo }, 'the certificate is out of its time: clients will refuse it');
  }
  return { cert, key };
}

async function readText(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw invalid(option, `cannot be read: ${path} (${code})`);
  }
}

function parseCertificate(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    const reason = (error as Error).message;
    throw invalid('--tls-cert', `${path} is not a certificate in PEM form: ${reason}`);
  }
}
