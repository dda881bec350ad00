export declare function mysqlPrograms(folder: string): Promise<{
  readonly daemon: readonly string[];
  readonly standing: readonly string[];
}>;
export declare function librariesIn(depends: string): string[];
