/* setting: reads and writes members of a struct through the rows of their table. */
#include <faro/setting.h>

#include <string.h>

double faro_setting_get(const faro_setting *setting, const void *values) {
  const unsigned char *at = (const unsigned char *)values + setting->offset;
  double real = 0;
  uint64_t count = 0;
  bool on = false;
  int choice = 0;
  switch (setting->type) {
  case FARO_SETTING_REAL:
  case FARO_SETTING_REAL_OPEN: memcpy(&real, at, sizeof real); return real;
  case FARO_SETTING_COUNT: memcpy(&count, at, sizeof count); return (double)count;
  case FARO_SETTING_SWITCH: memcpy(&on, at, sizeof on); return on;
  case FARO_SETTING_CHOICE: memcpy(&choice, at, sizeof choice); return choice;
  }
  return 0;
}

void faro_setting_put(const faro_setting *setting, void *values, double value) {
  unsigned char *at = (unsigned char *)values + setting->offset;
  const uint64_t count = value > 0 ? (uint64_t)value : 0;
  const bool on = value != 0;
  const int choice = (int)count;
  switch (setting->type) {
  case FARO_SETTING_REAL:
  case FARO_SETTING_REAL_OPEN: memcpy(at, &value, sizeof value); break;
  case FARO_SETTING_COUNT: memcpy(at, &count, sizeof count); break;
  case FARO_SETTING_SWITCH: memcpy(at, &on, sizeof on); break;
  case FARO_SETTING_CHOICE: memcpy(at, &choice, sizeof choice); break;
  }
}

void faro_settings_preset(const faro_setting *settings, void *values) {
  for (; settings && settings->name; settings++) faro_setting_put(settings, values, settings->preset);
}
