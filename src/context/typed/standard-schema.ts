// The interface that validators share (https://standardschema.dev, version 1). Zod, Valibot and ArkType have it.

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** For types alone: not there when the program runs. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The first issue, as in "role: expected a string". */
export function toProblem(issues: readonly SchemaIssue[]): string {
  const [issue] = issues;
  if (issue === undefined) return 'it is not as expected';
  const keys = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  const more = issues.length === 1 ? '' : ` (and ${issues.length - 1} more)`;
  return `${keys.length === 0 ? '' : `${keys.join('.')}: `}${issue.message}${more}`;
}
