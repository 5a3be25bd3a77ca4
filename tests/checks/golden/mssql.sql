-- Written by `python -m tests.checks.golden`. Compiled for mssql; not tried on a server.

-- nulls: not_null
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF([t0].[id] IS NULL, 1, 0)) AS [a1],
  SUM(IIF([t0].[code] IS NULL, 1, 0)) AS [a2],
  SUM(IIF([t0].[x] IS NULL, 1, 0)) AS [a3],
  SUM(IIF([t0].[amount] IS NULL, 1, 0)) AS [a4],
  SUM(IIF([t0].[at] IS NULL, 1, 0)) AS [a5],
  SUM(IIF([t0].[wall] IS NULL, 1, 0)) AS [a6],
  SUM(IIF([t0].[note] IS NULL, 1, 0)) AS [a7]
FROM [t] AS [t0];

-- key: primary_key
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF([t0].[id] IS NULL, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [duplicate_keys],
  SUM([t3].[copies]) AS [duplicate_rows]
FROM (
  SELECT
    [t2].[key0] AS [key0],
    [t2].[copies] AS [copies]
  FROM (
    SELECT
      [t1].[key0] AS [key0],
      COUNT_BIG(*) AS [copies]
    FROM (
      SELECT
        [t0].[id] AS [key0]
      FROM [t] AS [t0]
      WHERE
        IIF([t0].[id] IS NULL, 1, 0) = 0
    ) AS [t1]
    GROUP BY
      [t1].[key0]
  ) AS [t2]
  WHERE
    [t2].[copies] > 1
) AS [t3];

-- key-with-nulls: primary_key
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF([t0].[code] IS NULL, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [duplicate_keys],
  SUM([t3].[copies]) AS [duplicate_rows]
FROM (
  SELECT
    [t2].[key0] AS [key0],
    [t2].[copies] AS [copies]
  FROM (
    SELECT
      [t1].[key0] AS [key0],
      COUNT_BIG(*) AS [copies]
    FROM (
      SELECT
        [t0].[code] AS [key0]
      FROM [t] AS [t0]
      WHERE
        IIF([t0].[code] IS NULL, 1, 0) = 0
    ) AS [t1]
    GROUP BY
      [t1].[key0]
  ) AS [t2]
  WHERE
    [t2].[copies] > 1
) AS [t3];

-- key-of-nan: unique
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF([t0].[x] IS NULL, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [duplicate_keys],
  SUM([t3].[copies]) AS [duplicate_rows]
FROM (
  SELECT
    [t2].[key0] AS [key0],
    [t2].[copies] AS [copies]
  FROM (
    SELECT
      [t1].[key0] AS [key0],
      COUNT_BIG(*) AS [copies]
    FROM (
      SELECT
        [t0].[x] AS [key0]
      FROM [t] AS [t0]
    ) AS [t1]
    GROUP BY
      [t1].[key0]
  ) AS [t2]
  WHERE
    [t2].[copies] > 1
) AS [t3];

-- key-of-texts: unique
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF([t0].[note] IS NULL, 1, 0)) AS [a1],
  SUM(IIF(IIF([t0].[note] IS NULL, 1, 0) = 0, 1, 0)) AS [a2]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [duplicate_keys],
  SUM([t3].[copies]) AS [duplicate_rows]
FROM (
  SELECT
    [t2].[key0] AS [key0],
    [t2].[copies] AS [copies]
  FROM (
    SELECT
      [t1].[key0] AS [key0],
      COUNT_BIG(*) AS [copies]
    FROM (
      SELECT
        [t0].[note] AS [key0]
      FROM [t] AS [t0]
      WHERE
        IIF([t0].[note] IS NULL, 1, 0) = 0
    ) AS [t1]
    GROUP BY
      [t1].[key0]
  ) AS [t2]
  WHERE
    [t2].[copies] > 1
) AS [t3];

-- key-of-decimals: unique
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF([t0].[amount] IS NULL, 1, 0)) AS [a1],
  SUM(IIF(IIF([t0].[amount] IS NULL, 1, 0) = 0, 1, 0)) AS [a2]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [duplicate_keys],
  SUM([t3].[copies]) AS [duplicate_rows]
FROM (
  SELECT
    [t2].[key0] AS [key0],
    [t2].[copies] AS [copies]
  FROM (
    SELECT
      [t1].[key0] AS [key0],
      COUNT_BIG(*) AS [copies]
    FROM (
      SELECT
        [t0].[amount] AS [key0]
      FROM [t] AS [t0]
      WHERE
        IIF([t0].[amount] IS NULL, 1, 0) = 0
    ) AS [t1]
    GROUP BY
      [t1].[key0]
  ) AS [t2]
  WHERE
    [t2].[copies] > 1
) AS [t3];

-- key-of-moments: unique
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF([t0].[at] IS NULL, 1, 0)) AS [a1],
  SUM(IIF(IIF([t0].[at] IS NULL, 1, 0) = 0, 1, 0)) AS [a2]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [duplicate_keys],
  SUM([t3].[copies]) AS [duplicate_rows]
FROM (
  SELECT
    [t2].[key0] AS [key0],
    [t2].[copies] AS [copies]
  FROM (
    SELECT
      [t1].[key0] AS [key0],
      COUNT_BIG(*) AS [copies]
    FROM (
      SELECT
        [t0].[at] AS [key0]
      FROM [t] AS [t0]
      WHERE
        IIF([t0].[at] IS NULL, 1, 0) = 0
    ) AS [t1]
    GROUP BY
      [t1].[key0]
  ) AS [t2]
  WHERE
    [t2].[copies] > 1
) AS [t3];

-- range-of-floats: range
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF((
    [t0].[x] < 0.0
  ) OR (
    [t0].[x] > 10.0
  ), 1, 0)) AS [a1],
  SUM(IIF(IIF([t0].[x] IS NULL, 1, 0) = 0, 1, 0)) AS [a2]
FROM [t] AS [t0];

-- range-of-decimals: range
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(
    IIF(
      (
        [t0].[amount] < CAST('-12345678901234567890123456789.012345678' AS NUMERIC(38, 9))
      )
      OR (
        [t0].[amount] > CAST('12345678901234567890123456789.012345677' AS NUMERIC(38, 9))
      ),
      1,
      0
    )
  ) AS [a1],
  SUM(IIF(IIF([t0].[amount] IS NULL, 1, 0) = 0, 1, 0)) AS [a2]
FROM [t] AS [t0];

-- accepted: accepted_values
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(IIF([t0].[note] IN ('é', 'a', '日本''"\%_'), 1, 0) = 0, 1, 0)) AS [a1],
  SUM(IIF(IIF([t0].[note] IS NULL, 1, 0) = 0, 1, 0)) AS [a2]
FROM [t] AS [t0];

-- pattern: pattern
-- not supported: mssql does not support this expression (OperationNotDefinedError)

-- where: range
SELECT
  SUM(IIF('tablewatch where 0' = 'tablewatch', 1, 0)) AS [a0],
  SUM(IIF((
    [t0].[code] > 20
  ) AND (
    'tablewatch where 0' = 'tablewatch'
  ), 1, 0)) AS [a1],
  SUM(
    IIF(
      (
        IIF([t0].[code] IS NULL, 1, 0) = 0
      )
      AND (
        'tablewatch where 0' = 'tablewatch'
      ),
      1,
      0
    )
  ) AS [a2]
FROM [t] AS [t0];

-- rows: volume
SELECT
  COUNT_BIG(*) AS [a0]
FROM [t] AS [t0];

-- sum: metric
SELECT
  COUNT_BIG(*) AS [a0],
  SUM([t0].[amount]) AS [a1]
FROM [t] AS [t0];

-- mean: metric
SELECT
  COUNT_BIG(*) AS [a0],
  SUM([t0].[code]) AS [a1],
  COUNT([t0].[code]) AS [a2]
FROM [t] AS [t0];

-- newest: freshness
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(NOT [t0].[at] IS NULL, 1, 0)) AS [a1],
  SUM(IIF((
    NOT [t0].[at] IS NULL
  ) AND (
    1 = 0
  ), 1, 0)) AS [a2],
  MAX(
    IIF(
      [t0].[at] <= DATETIMEOFFSETFROMPARTS(2026, 11, 20, 9, 20, 0, 0, 0, 0, 6),
      [t0].[at],
      NULL
    )
  ) AS [a3],
  SUM(
    IIF([t0].[at] > DATETIMEOFFSETFROMPARTS(2026, 11, 20, 9, 20, 0, 0, 0, 0, 6), 1, 0)
  ) AS [a4]
FROM [t] AS [t0];

-- newest-by-the-wall: freshness
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(NOT [t0].[wall] IS NULL, 1, 0)) AS [a1],
  SUM(IIF((
    NOT [t0].[wall] IS NULL
  ) AND (
    1 = 0
  ), 1, 0)) AS [a2],
  MAX(
    IIF([t0].[wall] <= DATETIME2FROMPARTS(2026, 11, 20, 9, 20, 0, 0, 6), [t0].[wall], NULL)
  ) AS [a3],
  SUM(IIF([t0].[wall] > DATETIME2FROMPARTS(2026, 11, 20, 9, 20, 0, 0, 6), 1, 0)) AS [a4]
FROM [t] AS [t0];

-- columns: schema
-- the catalogue alone

-- orphans: foreign_key
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(IIF([t0].[code] IS NULL, 1, 0) = 0, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [orphans]
FROM (
  SELECT
    [t5].[own0] AS [own0]
  FROM (
    SELECT
      [t0].[code] AS [own0]
    FROM [t] AS [t0]
    WHERE
      IIF([t0].[code] IS NULL, 1, 0) = 0
  ) AS [t5]
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          [t1].[code] AS [known0]
        FROM [parents] AS [t1]
      ) AS [t3]
      WHERE
        [t5].[own0] = [t3].[known0]
    )
) AS [t6];

-- orphans-by-text: foreign_key
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(IIF((
    [t0].[town] IS NULL
  ) OR (
    [t0].[ill] IS NULL
  ), 1, 0) = 0, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [orphans]
FROM (
  SELECT
    [t5].[own0] AS [own0],
    [t5].[own1] AS [own1]
  FROM (
    SELECT
      [t0].[town] AS [own0],
      [t0].[ill] AS [own1]
    FROM [t] AS [t0]
    WHERE
      IIF((
        [t0].[town] IS NULL
      ) OR (
        [t0].[ill] IS NULL
      ), 1, 0) = 0
  ) AS [t5]
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          [t1].[town] AS [known0],
          [t1].[ill] AS [known1]
        FROM [parents] AS [t1]
      ) AS [t3]
      WHERE
        [t5].[own0] = [t3].[known0] AND [t5].[own1] = [t3].[known1]
    )
) AS [t6];

-- dependency: functional_dependency
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(IIF((
    [t0].[code] IS NULL
  ) OR (
    [t0].[town] IS NULL
  ), 1, 0) = 0, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [groups],
  SUM([t4].[others]) AS [violations]
FROM (
  SELECT
    [t3].[key0] AS [key0],
    [t3].[values] AS [values],
    [t3].[others] AS [others]
  FROM (
    SELECT
      [t2].[key0] AS [key0],
      COUNT_BIG(*) AS [values],
      SUM([t2].[copies]) - MAX([t2].[copies]) AS [others]
    FROM (
      SELECT
        [t1].[key0] AS [key0],
        [t1].[value] AS [value],
        COUNT_BIG(*) AS [copies]
      FROM (
        SELECT
          [t0].[code] AS [key0],
          [t0].[town] AS [value]
        FROM [t] AS [t0]
        WHERE
          IIF((
            [t0].[code] IS NULL
          ) OR (
            [t0].[town] IS NULL
          ), 1, 0) = 0
      ) AS [t1]
      GROUP BY
        [t1].[key0],
        [t1].[value]
    ) AS [t2]
    GROUP BY
      [t2].[key0]
  ) AS [t3]
  WHERE
    [t3].[values] > 1
) AS [t4];

-- dependency-on-nan: functional_dependency
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(IIF((
    [t0].[x] IS NULL
  ) OR (
    [t0].[code] IS NULL
  ), 1, 0) = 0, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [groups],
  SUM([t4].[others]) AS [violations]
FROM (
  SELECT
    [t3].[key0] AS [key0],
    [t3].[values] AS [values],
    [t3].[others] AS [others]
  FROM (
    SELECT
      [t2].[key0] AS [key0],
      COUNT_BIG(*) AS [values],
      SUM([t2].[copies]) - MAX([t2].[copies]) AS [others]
    FROM (
      SELECT
        [t1].[key0] AS [key0],
        [t1].[value] AS [value],
        COUNT_BIG(*) AS [copies]
      FROM (
        SELECT
          [t0].[x] AS [key0],
          [t0].[code] AS [value]
        FROM [t] AS [t0]
        WHERE
          IIF((
            [t0].[x] IS NULL
          ) OR (
            [t0].[code] IS NULL
          ), 1, 0) = 0
      ) AS [t1]
      GROUP BY
        [t1].[key0],
        [t1].[value]
    ) AS [t2]
    GROUP BY
      [t2].[key0]
  ) AS [t3]
  WHERE
    [t3].[values] > 1
) AS [t4];

-- query: sql
SELECT
  COUNT_BIG(*) AS [a0]
FROM [t] AS [t0];
SELECT
  COUNT(*) AS n
FROM (
  SELECT
    id AS id
  FROM t
  WHERE
    town = '東京'
) AS q;

-- reconciled: reconcile
SELECT
  COUNT_BIG(*) AS [a0],
  SUM([t0].[code]) AS [a1]
FROM [t] AS [t0];
SELECT
  SUM([t0].[code]) AS [value]
FROM [parents] AS [t0];

-- k: k_anonymity
WITH [t2] AS (
  SELECT
    [t1].[q0] AS [q0],
    [t1].[q1] AS [q1],
    COUNT_BIG(*) AS [size]
  FROM (
    SELECT
      [t0].[ill] AS [q0],
      [t0].[town] AS [q1]
    FROM [t] AS [t0]
  ) AS [t1]
  GROUP BY
    [t1].[q0],
    [t1].[q1]
)
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      0 AS [figure],
      [t4].[size] AS [i0],
      [t4].[classes] AS [i1],
      CAST(NULL AS BIGINT) AS [i2],
      CAST(NULL AS VARCHAR(MAX)) AS [t0]
    FROM (
      SELECT
        [t3].[size] AS [size],
        COUNT_BIG(*) AS [classes]
      FROM [t2] AS [t3]
      GROUP BY
        [t3].[size]
    ) AS [t4]
  ) AS [t7]
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      1 AS [figure],
      [t14].[pattern] AS [i0],
      [t14].[classes] AS [i1],
      [t14].[rows] AS [i2],
      CAST(NULL AS VARCHAR(MAX)) AS [t0]
    FROM (
      SELECT
        [t12].[pattern] AS [pattern],
        COUNT_BIG(*) AS [classes],
        SUM([t12].[size]) AS [rows]
      FROM (
        SELECT
          CAST(IIF([t3].[q0] IS NULL, 1, 0) AS BIGINT) + CAST(IIF([t3].[q1] IS NULL, 2, 0) AS BIGINT) AS [pattern],
          [t3].[size] AS [size]
        FROM [t2] AS [t3]
      ) AS [t12]
      GROUP BY
        [t12].[pattern]
    ) AS [t14]
  ) AS [t15]
) AS [t16]
UNION ALL
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      2 AS [figure],
      CAST(NULL AS BIGINT) AS [i0],
      CAST(NULL AS BIGINT) AS [i1],
      CAST(NULL AS BIGINT) AS [i2],
      [t8].[value] AS [t0]
    FROM (
      SELECT DISTINCT
      TOP 10001
        [t3].[q1] AS [value]
      FROM [t2] AS [t3]
      WHERE
        NOT [t3].[q1] IS NULL
    ) AS [t8]
  ) AS [t10]
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      3 AS [figure],
      CAST(NULL AS BIGINT) AS [i0],
      CAST(NULL AS BIGINT) AS [i1],
      CAST(NULL AS BIGINT) AS [i2],
      [t9].[value] AS [t0]
    FROM (
      SELECT DISTINCT
      TOP 10001
        [t3].[q0] AS [value]
      FROM [t2] AS [t3]
      WHERE
        NOT [t3].[q0] IS NULL
    ) AS [t9]
  ) AS [t11]
) AS [t13];

-- l: l_diversity
SELECT
  SUM(
    IIF(
      (
        [t0].[ill] IS NULL
      )
      OR (
        TRIM(' 	
' FROM [t0].[ill]) = ''
      ),
      1,
      0
    )
  ) AS [a0]
FROM [t] AS [t0];
WITH [t2] AS (
  SELECT
    [t1].[q0] AS [q0],
    [t1].[value] AS [value],
    COUNT_BIG(*) AS [copies]
  FROM (
    SELECT
      [t0].[town] AS [q0],
      [t0].[ill] AS [value]
    FROM [t] AS [t0]
  ) AS [t1]
  GROUP BY
    [t1].[q0],
    [t1].[value]
)
SELECT
  *
FROM (
  SELECT
    0 AS [figure],
    [t9].[rows] AS [i0],
    [t9].[classes] AS [i1],
    [t9].[distinct] AS [i2],
    [t9].[classes:2/None] AS [i3],
    [t9].[records:2/None] AS [i4],
    [t9].[entropy] AS [x0],
    CAST(NULL AS VARCHAR(MAX)) AS [t0]
  FROM (
    SELECT
      SUM([t8].[size]) AS [rows],
      COUNT_BIG(*) AS [classes],
      MIN([t8].[distinct]) AS [distinct],
      MIN([t8].[entropy]) AS [entropy],
      SUM(IIF([t8].[distinct] < 2, 1, 0)) AS [classes:2/None],
      SUM(IIF([t8].[distinct] < 2, [t8].[size], 0)) AS [records:2/None]
    FROM (
      SELECT
        [t7].[q0] AS [q0],
        [t7].[distinct] AS [distinct],
        [t7].[size] AS [size],
        [t7].[logs] AS [logs],
        IIF(
          [t7].[distinct] = 1,
          0.0,
          LOG(CAST([t7].[size] AS FLOAT)) - (
            [t7].[logs] / CAST([t7].[size] AS FLOAT)
          )
        ) AS [entropy]
      FROM (
        SELECT
          [t3].[q0] AS [q0],
          COUNT_BIG(*) AS [distinct],
          SUM([t3].[copies]) AS [size],
          SUM(CAST([t3].[copies] AS FLOAT) * LOG(CAST([t3].[copies] AS FLOAT))) AS [logs]
        FROM [t2] AS [t3]
        GROUP BY
          [t3].[q0]
      ) AS [t7]
    ) AS [t8]
  ) AS [t9]
) AS [t10]
UNION ALL
SELECT
  *
FROM (
  SELECT
    1 AS [figure],
    CAST(NULL AS BIGINT) AS [i0],
    CAST(NULL AS BIGINT) AS [i1],
    CAST(NULL AS BIGINT) AS [i2],
    CAST(NULL AS BIGINT) AS [i3],
    CAST(NULL AS BIGINT) AS [i4],
    CAST(NULL AS FLOAT) AS [x0],
    [t5].[value] AS [t0]
  FROM (
    SELECT DISTINCT
    TOP 10001
      [t3].[value] AS [value]
    FROM [t2] AS [t3]
    WHERE
      NOT [t3].[value] IS NULL
  ) AS [t5]
) AS [t6];

-- classified: classification
-- the catalogue alone

-- present: delta_presence
SELECT
  COUNT_BIG(*) AS [a0]
FROM [t] AS [t0];
SELECT
  0 AS [figure],
  [t9].[rows] AS [i0],
  [t9].[population_rows] AS [i1],
  [t9].[classes] AS [i2],
  [t9].[population_classes] AS [i3],
  [t9].[outside] AS [i4],
  [t9].[delta_min] AS [x0],
  [t9].[delta_max] AS [x1]
FROM (
  SELECT
    SUM([t8].[rows]) AS [rows],
    SUM([t8].[population]) AS [population_rows],
    SUM(IIF([t8].[rows] > 0, 1, 0)) AS [classes],
    SUM(IIF([t8].[population] > 0, 1, 0)) AS [population_classes],
    SUM(
      IIF((
        [t8].[rows] - [t8].[population]
      ) > 0, [t8].[rows] - [t8].[population], 0)
    ) AS [outside],
    MIN(CAST([t8].[rows] AS FLOAT) / CAST(NULLIF([t8].[population], 0) AS FLOAT)) AS [delta_min],
    MAX(CAST([t8].[rows] AS FLOAT) / CAST(NULLIF([t8].[population], 0) AS FLOAT)) AS [delta_max]
  FROM (
    SELECT
      [t7].[q0] AS [q0],
      SUM([t7].[rows]) AS [rows],
      SUM([t7].[population]) AS [population]
    FROM (
      SELECT
        *
      FROM (
        SELECT
          [t5].[q0] AS [q0],
          [t5].[size] AS [rows],
          0 AS [population]
        FROM (
          SELECT
            [t3].[q0] AS [q0],
            COUNT_BIG(*) AS [size]
          FROM (
            SELECT
              [t1].[town] AS [q0]
            FROM [t] AS [t1]
          ) AS [t3]
          GROUP BY
            [t3].[q0]
        ) AS [t5]
      ) AS [t6]
      UNION ALL
      SELECT
        *
      FROM (
        SELECT
          [t2].[q0] AS [q0],
          0 AS [rows],
          COUNT_BIG(*) AS [population]
        FROM (
          SELECT
            [t0].[town] AS [q0]
          FROM [parents] AS [t0]
        ) AS [t2]
        GROUP BY
          [t2].[q0]
      ) AS [t4]
    ) AS [t7]
    GROUP BY
      [t7].[q0]
  ) AS [t8]
) AS [t9];

-- linked: linkage
SELECT
  COUNT_BIG(*) AS [a0],
  SUM(IIF(NOT [t0].[town] IS NULL, 1, 0)) AS [a1]
FROM [t] AS [t0];
SELECT
  COUNT_BIG(*) AS [rows],
  SUM(IIF(NOT [t0].[town] IS NULL, 1, 0)) AS [complete]
FROM [parents] AS [t0];
SELECT
  [t9].[other_rows] AS [candidates],
  SUM([t9].[own_rows]) AS [found],
  SUM(IIF((
    [t9].[other_rows] = 1
  ) AND (
    [t9].[back] = 1
  ), [t9].[own_rows], 0)) AS [both_ways]
FROM (
  SELECT
    [t8].[own0] AS [own0],
    [t8].[own_rows] AS [own_rows],
    [t8].[other0] AS [other0],
    [t8].[other_rows] AS [other_rows],
    [t8].[own_rows] AS [back]
  FROM (
    SELECT
      [t6].[own0] AS [own0],
      [t6].[own_rows] AS [own_rows],
      [t7].[other0] AS [other0],
      [t7].[other_rows] AS [other_rows]
    FROM (
      SELECT
        [t2].[own0] AS [own0],
        COUNT_BIG(*) AS [own_rows]
      FROM (
        SELECT
          [t0].[town] AS [own0]
        FROM [t] AS [t0]
        WHERE
          NOT [t0].[town] IS NULL
      ) AS [t2]
      GROUP BY
        [t2].[own0]
    ) AS [t6]
    INNER JOIN (
      SELECT
        [t3].[other0] AS [other0],
        COUNT_BIG(*) AS [other_rows]
      FROM (
        SELECT
          [t1].[town] AS [other0]
        FROM [parents] AS [t1]
        WHERE
          NOT [t1].[town] IS NULL
      ) AS [t3]
      GROUP BY
        [t3].[other0]
    ) AS [t7]
      ON [t6].[own0] = [t7].[other0]
  ) AS [t8]
) AS [t9]
GROUP BY
  [t9].[other_rows];

-- unique-in-population: population_uniqueness
SELECT
  0 AS [figure],
  [t3].[size] AS [i0],
  [t3].[classes] AS [i1]
FROM (
  SELECT
    [t2].[size] AS [size],
    COUNT_BIG(*) AS [classes]
  FROM (
    SELECT
      [t1].[q0] AS [q0],
      [t1].[q1] AS [q1],
      COUNT_BIG(*) AS [size]
    FROM (
      SELECT
        [t0].[ill] AS [q0],
        [t0].[town] AS [q1]
      FROM [t] AS [t0]
    ) AS [t1]
    GROUP BY
      [t1].[q0],
      [t1].[q1]
  ) AS [t2]
  GROUP BY
    [t2].[size]
) AS [t3];

-- subsets: reidentification_by_subset
SELECT
  0 AS [figure],
  [t4].[rows] AS [i0],
  [t4].[classes] AS [i1],
  [t4].[alike] AS [i2],
  [t4].[uniques] AS [i3]
FROM (
  SELECT
    SUM([t3].[size]) AS [rows],
    COUNT_BIG(*) AS [classes],
    SUM([t3].[size] * (
      [t3].[size] - 1
    )) AS [alike],
    SUM(IIF([t3].[size] = 1, 1, 0)) AS [uniques]
  FROM (
    SELECT
      [t2].[q0] AS [q0],
      [t2].[q1] AS [q1],
      SUM([t2].[size]) AS [size]
    FROM (
      SELECT
        [t1].[q0] AS [q0],
        [t1].[q1] AS [q1],
        COUNT_BIG(*) AS [size]
      FROM (
        SELECT
          [t0].[ill] AS [q0],
          [t0].[town] AS [q1]
        FROM [t] AS [t0]
      ) AS [t1]
      GROUP BY
        [t1].[q0],
        [t1].[q1]
    ) AS [t2]
    GROUP BY
      [t2].[q0],
      [t2].[q1]
  ) AS [t3]
) AS [t4];

-- distributed: distribution
SELECT
  COUNT_BIG(*) AS [a0]
FROM [t] AS [t0];
SELECT
  [t7].[missing],
  [t7].[now],
  [t7].[before],
  [t7].[n],
  CAST(NULL AS FLOAT) AS [area],
  1 AS [is_category]
FROM (
  SELECT
    [t6].[missing] AS [missing],
    [t6].[now] AS [now],
    [t6].[before] AS [before],
    COUNT_BIG(*) AS [n]
  FROM (
    SELECT
      [t5].[value] AS [value],
      [t5].[now] AS [now],
      [t5].[before] AS [before],
      IIF([t5].[value] IS NULL, 1, 0) AS [missing]
    FROM (
      SELECT
        [t4].[value] AS [value],
        SUM([t4].[now]) AS [now],
        SUM([t4].[before]) AS [before]
      FROM (
        SELECT
          *
        FROM (
          SELECT
            [t0].[town] AS [value],
            1 AS [now],
            0 AS [before]
          FROM [t] AS [t0]
        ) AS [t2]
        UNION ALL
        SELECT
          *
        FROM (
          SELECT
            [t1].[town] AS [value],
            0 AS [now],
            1 AS [before]
          FROM [parents] AS [t1]
        ) AS [t3]
      ) AS [t4]
      GROUP BY
        [t4].[value]
    ) AS [t5]
  ) AS [t6]
  GROUP BY
    [t6].[missing],
    [t6].[now],
    [t6].[before]
) AS [t7];

-- t: t_closeness
SELECT
  SUM(
    IIF(
      (
        [t0].[ill] IS NULL
      )
      OR (
        TRIM(' 	
' FROM [t0].[ill]) = ''
      ),
      1,
      0
    )
  ) AS [a0]
FROM [t] AS [t0];
WITH [t2] AS (
  SELECT
    [t1].[q0] AS [q0],
    [t1].[value] AS [value],
    COUNT_BIG(*) AS [copies]
  FROM (
    SELECT
      [t0].[town] AS [q0],
      [t0].[ill] AS [value]
    FROM [t] AS [t0]
  ) AS [t1]
  GROUP BY
    [t1].[q0],
    [t1].[value]
), [t6] AS (
  SELECT
    [t3].[value] AS [value],
    SUM([t3].[copies]) AS [total]
  FROM [t2] AS [t3]
  GROUP BY
    [t3].[value]
)
SELECT
  *
FROM (
  SELECT
    0 AS [figure],
    [t19].[rows] AS [i0],
    [t19].[classes] AS [i1],
    [t19].[classes:0.1] AS [i2],
    [t19].[records:0.1] AS [i3],
    [t19].[t] AS [x0],
    CAST(NULL AS VARCHAR(MAX)) AS [t0]
  FROM (
    SELECT
      SUM([t18].[size]) AS [rows],
      COUNT_BIG(*) AS [classes],
      MAX([t18].[far]) AS [t],
      SUM(IIF([t18].[far] > 0.10000000000100001, 1, 0)) AS [classes:0.1],
      SUM(IIF([t18].[far] > 0.10000000000100001, [t18].[size], 0)) AS [records:0.1]
    FROM (
      SELECT
        [t17].[size] AS [size],
        CAST([t17].[moved] AS FLOAT) / NULLIF(CAST([t17].[size] * [t17].[rows] AS FLOAT) * 1, 0) AS [far]
      FROM (
        SELECT
          [t16].[q0] AS [q0],
          MAX([t16].[size]) AS [size],
          MAX([t16].[rows]) AS [rows],
          SUM([t16].[moved]) AS [moved]
        FROM (
          SELECT
            [t15].[q0] AS [q0],
            [t15].[size] AS [size],
            [t15].[rows] AS [rows],
            GREATEST((
              [t15].[copies] * [t15].[rows]
            ) - (
              [t15].[size] * [t15].[total]
            ), 0) AS [moved]
          FROM (
            SELECT
              [t14].[q0] AS [q0],
              [t14].[value] AS [value],
              [t14].[copies] AS [copies],
              [t14].[rows] AS [rows],
              [t14].[total] AS [total],
              SUM([t14].[copies]) OVER (
                PARTITION BY [t14].[q0]
                ORDER BY CASE WHEN [t14].[copies] IS NULL THEN 1 ELSE 0 END, [t14].[copies] ASC
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
              ) AS [size]
            FROM (
              SELECT
                [t4].[q0] AS [q0],
                [t4].[value] AS [value],
                [t4].[copies] AS [copies],
                [t13].[rows] AS [rows],
                COALESCE([t12].[total], [t13].[null_total]) AS [total]
              FROM [t2] AS [t4]
              LEFT OUTER JOIN (
                SELECT
                  [t8].[value] AS [known],
                  MAX([t8].[total]) AS [total]
                FROM [t6] AS [t8]
                GROUP BY
                  [t8].[value]
              ) AS [t12]
                ON [t4].[value] = [t12].[known]
              CROSS JOIN (
                SELECT
                  SUM([t8].[total]) AS [rows],
                  MAX(IIF([t8].[value] IS NULL, [t8].[total], NULL)) AS [null_total]
                FROM [t6] AS [t8]
              ) AS [t13]
            ) AS [t14]
          ) AS [t15]
        ) AS [t16]
        GROUP BY
          [t16].[q0]
      ) AS [t17]
    ) AS [t18]
  ) AS [t19]
) AS [t20]
UNION ALL
SELECT
  *
FROM (
  SELECT
    1 AS [figure],
    CAST(NULL AS BIGINT) AS [i0],
    CAST(NULL AS BIGINT) AS [i1],
    CAST(NULL AS BIGINT) AS [i2],
    CAST(NULL AS BIGINT) AS [i3],
    CAST(NULL AS FLOAT) AS [x0],
    [t7].[value] AS [t0]
  FROM (
    SELECT DISTINCT
    TOP 10001
      [t3].[value] AS [value]
    FROM [t2] AS [t3]
    WHERE
      NOT [t3].[value] IS NULL
  ) AS [t7]
) AS [t9];

-- sampled-nulls: not_null
SELECT
  COUNT_BIG(*) AS [rows],
  SUM(IIF([t1].[code] IS NULL, 1, 0)) AS [nulls_code],
  SUM(IIF([t1].[note] IS NULL, 1, 0)) AS [nulls_note]
FROM (
  SELECT
    [t0].[id] AS [id],
    [t0].[code] AS [code],
    [t0].[x] AS [x],
    [t0].[amount] AS [amount],
    [t0].[at] AS [at],
    [t0].[wall] AS [wall],
    [t0].[note] AS [note],
    [t0].[town] AS [town],
    [t0].[ill] AS [ill]
  FROM [t] AS [t0]
  WHERE
    RAND(CHECKSUM(NEWID())) < 0.999999999999
) AS [t1];

-- sampled-range: range
SELECT
  COUNT_BIG(*) AS [rows],
  SUM(IIF([t1].[code] < 20, 1, 0)) AS [violations],
  SUM(IIF(IIF([t1].[code] IS NULL, 1, 0) = 0, 1, 0)) AS [compared]
FROM (
  SELECT
    [t0].[id] AS [id],
    [t0].[code] AS [code],
    [t0].[x] AS [x],
    [t0].[amount] AS [amount],
    [t0].[at] AS [at],
    [t0].[wall] AS [wall],
    [t0].[note] AS [note],
    [t0].[town] AS [town],
    [t0].[ill] AS [ill]
  FROM [t] AS [t0]
  WHERE
    RAND(CHECKSUM(NEWID())) < 0.999999999999
) AS [t1];

-- sampled-accepted: accepted_values
SELECT
  COUNT_BIG(*) AS [rows],
  SUM(IIF(IIF([t1].[town] IN ('東京'), 1, 0) = 0, 1, 0)) AS [violations],
  SUM(IIF(IIF([t1].[town] IS NULL, 1, 0) = 0, 1, 0)) AS [compared]
FROM (
  SELECT
    [t0].[id] AS [id],
    [t0].[code] AS [code],
    [t0].[x] AS [x],
    [t0].[amount] AS [amount],
    [t0].[at] AS [at],
    [t0].[wall] AS [wall],
    [t0].[note] AS [note],
    [t0].[town] AS [town],
    [t0].[ill] AS [ill]
  FROM [t] AS [t0]
  WHERE
    RAND(CHECKSUM(NEWID())) < 0.999999999999
) AS [t1];

-- sampled-pattern: pattern
-- not supported: mssql does not support this expression (OperationNotDefinedError)

-- sampled-share: metric
SELECT
  COUNT_BIG(*) AS [rows],
  SUM(IIF([t1].[ill] IN ('flu'), 1, 0)) AS [matching]
FROM (
  SELECT
    [t0].[id] AS [id],
    [t0].[code] AS [code],
    [t0].[x] AS [x],
    [t0].[amount] AS [amount],
    [t0].[at] AS [at],
    [t0].[wall] AS [wall],
    [t0].[note] AS [note],
    [t0].[town] AS [town],
    [t0].[ill] AS [ill]
  FROM [t] AS [t0]
  WHERE
    RAND(CHECKSUM(NEWID())) < 0.999999999999
) AS [t1];

-- sampled-where: not_null
SELECT
  SUM(IIF('tablewatch where 0' = 'tablewatch', 1, 0)) AS [rows],
  SUM(
    IIF((
      [t1].[code] IS NULL
    ) AND (
      'tablewatch where 0' = 'tablewatch'
    ), 1, 0)
  ) AS [nulls_code]
FROM (
  SELECT
    [t0].[id] AS [id],
    [t0].[code] AS [code],
    [t0].[x] AS [x],
    [t0].[amount] AS [amount],
    [t0].[at] AS [at],
    [t0].[wall] AS [wall],
    [t0].[note] AS [note],
    [t0].[town] AS [town],
    [t0].[ill] AS [ill]
  FROM [t] AS [t0]
  WHERE
    RAND(CHECKSUM(NEWID())) < 0.999999999999
) AS [t1];
